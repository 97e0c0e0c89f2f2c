"""Settings of the virtual servers that the router creates."""

from f5router.config.front_end_options import OPTIONS
from f5router.model.virtual_server import FrontEnd, FrontEndLimits, listeners, syn_times
from tests.rows import rows
from tests.unit.config.loading import config, problems

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"
TIMES = tuple(option.name for option in OPTIONS if option.metavar == "TIME")


@rows(("flags", "front_ends"), [
    ({}, ()),
    ({"f5_vserver_address": "203.0.113.10"}, (FrontEnd(("203.0.113.10",), HTTP, HTTPS),)),
    ({"f5_vserver_address": "203.0.113.10, 2001:DB8:0::1"},
     (FrontEnd(("203.0.113.10", "2001:db8::1"), HTTP, HTTPS),)),
    ({"f5_vserver_address": "203.0.113.10", "f5_http_vserver": ""},
     (FrontEnd(("203.0.113.10",), None, HTTPS),)),
    ({"f5_vserver_address": "203.0.113.10", "service_http_port": "8080", "service_https_port": "8443"},
     (FrontEnd(("203.0.113.10",), HTTP, HTTPS, 8080, 8443),)),
    ({"f5_vserver_address": "203.0.113.10", "f5_partition_path": "/P/zone", "f5_https_vserver": "s"},
     (FrontEnd(("203.0.113.10",), "/P/zone/ose-vserver", "/P/zone/s"),)),
])
def test_front_ends(flags, front_ends):
    assert config(**flags).front_ends == front_ends


def test_names():
    """The first address has the names that prepared ones have."""
    settings = config(f5_vserver_address="203.0.113.10,203.0.113.11,2001:db8::1")
    assert [listener.virtual for listener in listeners(settings.front_ends)] == [
        HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2", f"{HTTP}_3", f"{HTTPS}_3"]


@rows(("text", "problem"), [
    ("203.0.113", "is not an IP address"),
    ("203.0.113.10,", "is not an IP address"),
    ("203.0.113.10%6", "may not name a route domain"),
    ("203.0.113.10,203.0.113.10", "one address is there twice"),
    ("2001:db8::1,2001:DB8:0::1", "one address is there twice"),
    *((text, "is no address on which clients can be served")
      for text in ("0.0.0.0", "::", "127.0.0.1", "224.0.0.1", "fe80::1", "::ffff:203.0.113.10")),
    (",".join(f"203.0.113.{number}" for number in range(1, 18)), "there are more than 16 addresses"),
])
def test_addresses(text, problem):
    (message,) = problems(f5_vserver_address=text)
    assert message.startswith("--f5-vserver-address / ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS: ")
    assert problem in message


def test_one_port_for_both():
    (text,) = problems(f5_vserver_address="203.0.113.10", service_http_port="443")
    assert text.endswith("HTTP and HTTPS cannot have one port")
    assert config(f5_vserver_address="203.0.113.10", service_http_port="443", f5_https_vserver="")


@rows(("flags", "limits"), [
    ({}, FrontEndLimits()),
    ({"max_connections": "auto"}, FrontEndLimits()),
    ({"max_connections": "50000"}, FrontEndLimits(connections=50000)),
    ({"client_fin_timeout": "1s", "default_server_fin_timeout": "1500ms"},
     FrontEndLimits(client_fin_s=1, server_fin_s=2)),
    ({"default_client_timeout": "30s", "default_connect_timeout": "5s"},
     FrontEndLimits(client_idle_s=30, connect_ms=5000, queue_ms=5000)),
    ({"default_client_timeout": "1", "default_connect_timeout": "1us"},
     FrontEndLimits(client_idle_s=1, connect_ms=1, queue_ms=1)),
    ({"default_client_timeout": "1d"}, FrontEndLimits(client_idle_s=86400)),
    ({"default_server_timeout": "30s", "default_tunnel_timeout": "1h", "slowloris_http_keepalive": "5m",
      "slowloris_timeout": "1500us", "inspect_delay": "5s"},
     FrontEndLimits(response_s=30, tunnel_s=3600, keep_alive_s=300, head_ms=2, hello_ms=5000)),
    ({"max_header_count": "128"}, FrontEndLimits(header_count=128)),
    ({"buf_size": "65536"}, FrontEndLimits(header_bytes=57344)),
    ({"max_rewrite_size": "16384"}, FrontEndLimits(header_bytes=16384)),
    ({"buf_size": "32768", "max_rewrite_size": "8192"}, FrontEndLimits(header_bytes=24576)),
])
def test_limits(flags, limits):
    (front_end,) = config(f5_vserver_address="203.0.113.10", **flags).front_ends
    assert front_end.limits == limits


@rows("text", ["0", "0s", "-1s", "1.5s", "5 s", "1m30s", "5w", "forever"])
def test_bad_times(text):
    for name in TIMES:
        (message,) = problems(**{"f5_vserver_address": "203.0.113.10", name.replace("-", "_"): text})
        assert message.startswith(f"--{name} / ROUTER_")
        assert "is not a whole number above 0 with a unit: us, ms, s, m, h or d" in message


def test_a_connect_time_beyond_the_range_of_a_bigip():
    """Times that other settings have may be too long; the longest that a TCP profile can have is taken."""
    (message,) = problems(f5_vserver_address="203.0.113.10", default_connect_timeout="8d")
    assert message == ("--default-connect-timeout / ROUTER_DEFAULT_CONNECT_TIMEOUT: '8d' is longer than a "
                       "BIG-IP can wait for a connection, 655355s")
    (front_end,) = config(f5_vserver_address="203.0.113.10", default_connect_timeout="655355s").front_ends
    assert syn_times(front_end.limits.connect_ms) == (5000, 16)


@rows(("connect_ms", "times"), [
    (1, (1, 1)), (100, (34, 1)), (1000, (334, 1)), (5000, (1667, 1)), (9000, (3000, 1)), (9001, (1286, 2)),
    (21_000, (3000, 2)), (30_000, (2000, 3)), (45_000, (3000, 3)), (60_000, (1936, 4)),
])
def test_times_of_syns(connect_ms, times):
    """At least one SYN is sent again, and the waits add up to the time, rounded up by less than a SYN."""
    syn_ms, retries = syn_times(connect_ms)
    assert (syn_ms, retries) == times
    assert connect_ms <= sum(syn_ms * 2 ** number for number in range(retries + 1)) < (
        connect_ms + 2 ** (retries + 1))


@rows("text", ["automap", "none", "/Common/pool", "/P/zone/pool-1"])
def test_translations(text):
    (front_end,) = config(f5_vserver_address="203.0.113.10", f5_vserver_snat=text).front_ends
    assert front_end.translation == text


@rows("text", ["snat", "pool", "/pool", "/Common/a b"])
def test_bad_translations(text):
    assert problems(f5_vserver_address="203.0.113.10", f5_vserver_snat=text)


def test_no_room_for_headers():
    (text,) = problems(f5_vserver_address="203.0.113.10", buf_size="16384", max_rewrite_size="16384")
    assert text.endswith("they leave 0 bytes for the headers of a request, less than 4096")


@rows(("flags", "warned"), [
    ({}, False), ({"service_http_port": "80"}, False), ({"service_http_port": "8080"}, True),
    ({"repair_disabled": "true"}, True), ({"max_connections": "50000"}, True), ({"buf_size": "32768"}, True),
    ({"max_connections": "0"}, False), ({"max_header_count": "64"}, False),
    ({"max_header_count": "65"}, True),
    *(({name.replace("-", "_"): "30s"}, True) for name in TIMES),
    ({"service_http_port": "8080", "f5_vserver_address": "203.0.113.10"}, False),
])
def test_settings_without_effect(flags, warned):
    texts = config(**flags).warnings
    assert any("has no effect without --f5-vserver-address" in text for text in texts) is warned

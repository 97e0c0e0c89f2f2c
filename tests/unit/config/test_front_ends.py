"""Settings of the virtual servers that the router creates."""

from f5router.model.virtual_server import FrontEnd, FrontEndLimits, listeners
from tests.rows import rows
from tests.unit.config.loading import config, problems

HTTP, HTTPS = "/Common/ose-vserver", "/Common/https-ose-vserver"


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
    assert settings.virtual_servers == tuple(listener.virtual for listener in listeners(settings.front_ends))


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
    ({"buf_size": "65536"}, FrontEndLimits(header_bytes=57344)),
    ({"max_rewrite_size": "16384"}, FrontEndLimits(header_bytes=16384)),
    ({"buf_size": "32768", "max_rewrite_size": "8192"}, FrontEndLimits(header_bytes=24576)),
])
def test_limits(flags, limits):
    (front_end,) = config(f5_vserver_address="203.0.113.10", **flags).front_ends
    assert front_end.limits == limits


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
    ({"max_connections": "0"}, False),
    ({"service_http_port": "8080", "f5_vserver_address": "203.0.113.10"}, False),
])
def test_settings_without_effect(flags, warned):
    texts = config(**flags).warnings
    assert any("has no effect without --f5-vserver-address" in text for text in texts) is warned

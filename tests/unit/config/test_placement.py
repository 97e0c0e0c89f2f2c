"""Settings of the network around the router's virtual servers, and of its access log."""

from f5router.model.access_log import DEFAULT_FORMAT, AccessLog, head, template
from f5router.model.placement import EVERYWHERE, Placement, Reach
from tests.rows import rows
from tests.unit.config.loading import config, problems

ADDRESS = {"f5_vserver_address": "203.0.113.10"}


def placement(**flags) -> Placement:
    (front_end,) = config(**ADDRESS, **flags).front_ends
    return front_end.placement


@rows(("flags", "reach"), [
    ({}, Reach()),
    ({"f5_vserver_vlans": "all"}, Reach(EVERYWHERE)),
    ({"f5_vserver_vlans": "/Common/external, /P/tunnel"},
     Reach(frozenset({"/Common/external", "/P/tunnel"}))),
    ({"f5_vserver_mirroring": "enabled"}, Reach(mirrored=True)),
    ({"f5_vserver_mirroring": "disabled"}, Reach(mirrored=False)),
])
def test_reach(flags, reach):
    assert placement(**flags) == Placement(reach)


LINE = template(DEFAULT_FORMAT)[0]


@rows(("flags", "log"), [
    ({}, None),
    ({"syslog_address": "10.9.9.9"}, AccessLog((("10.9.9.9", 514),), head("local1") + LINE)),
    ({"syslog_address": "udp@10.9.9.9:1514,[2001:DB8::1]:5514"},
     AccessLog((("10.9.9.9", 1514), ("2001:db8::1", 5514)), head("local1") + LINE)),
    ({"syslog_address": "tcp@2001:db8::1", "log_facility": "local7"},
     AccessLog((("2001:db8::1", 514),), head("local7") + LINE + "\n", over_tcp=True)),
    ({"syslog_address": "10.9.9.9", "syslog_format": "%ci %ST"},
     AccessLog((("10.9.9.9", 514),), head("local1") + "$CLIENT_IP $HTTP_STATCODE")),
    ({"syslog_address": "/var/lib/rsyslog/rsyslog.sock"}, None),
    ({"syslog_address": "syslog.example.com:514"}, None),
])
def test_access_logs(flags, log):
    assert placement(**flags).access_log == log


@rows(("flags", "problem"), [
    ({"f5_vserver_vlans": "external"}, "is not the full path of an object"),
    ({"f5_vserver_vlans": "/Common/a,/Common/a"}, "one name is there twice"),
    ({"syslog_address": "10.9.9.9:0"}, "0"),
    ({"syslog_address": "tls@10.9.9.9"}, "'tls' is neither udp nor tcp"),
    ({"syslog_address": "10.9.9.9,10.9.9.9:514"}, "one address is there twice"),
    ({"syslog_address": "no name"}, "is not an address, with an optional port"),
    ({"syslog_address": ",".join(f"10.9.9.{number}" for number in range(9))}, "more than 8 addresses"),
    ({"syslog_format": "a\tb"}, "it is not printable ASCII"),
    ({"syslog_format": "a" * 901}, "901 characters; there may be 900"),
    ({"log_facility": "local8"}, "local8"),
])
def test_problems(flags, problem):
    (text,) = problems(**ADDRESS, **flags)
    assert problem in text


@rows(("flags", "warning"), [
    ({"syslog_address": "/run/log.sock"}, "'/run/log.sock' is no IP address"),
    ({"syslog_address": "10.9.9.9", "syslog_format": "%ci %Tw %hr"},
     "the BIG-IP does not know %Tw %hr; the lines have a placeholder there"),
    ({"syslog_address": "10.9.9.9"}, ""),
    ({"syslog_format": "%Tw"}, ""),
])
def test_warnings(flags, warning):
    texts = [text for text in config(**ADDRESS, **flags).warnings if "SYSLOG" in text]
    assert (len(texts), warning in "".join(texts)) == (bool(warning), True)


TCP, HTTP = {"f5_tcp_profile": "/Common/tcp-wan"}, {"f5_http_profile": "/Common/own"}
USED = "only used for the wait for a pod at its limit: the profile of --f5-tcp-profile decides"


@rows(("flags", "warning"), [
    (TCP | {"default_client_timeout": "30s"}, "not used: the profile of --f5-tcp-profile decides"),
    (TCP | {"default_connect_timeout": "4s"}, USED),
    (TCP | {"default_server_timeout": "30s", "max_header_count": "100"}, ""),
    (HTTP | {"max_header_count": "100"}, "not used: the profile of --f5-http-profile decides"),
    (HTTP | {"default_connect_timeout": "4s"}, ""),
])
def test_settings_beside_a_profile_of_the_administrator(flags, warning):
    settings = config(**ADDRESS, **flags)
    texts = [text for text in settings.warnings if "decides" in text]
    assert (len(texts), warning in "".join(texts)) == (bool(warning), True)
    assert settings.front_ends[0].limits.queue_ms == (4000 if "default_connect_timeout" in flags else 5000)


@rows(("flags", "place"), [
    ({"f5_vserver_vlans": "/Common/external"}, "vlans and vlans-enabled of both virtual servers"),
    ({"f5_vserver_mirroring": "enabled"}, "mirror of both virtual servers"),
    ({"syslog_address": "10.9.9.9"}, "response-log-pool of a request logging profile"),
])
def test_without_virtual_servers_of_the_router(flags, place):
    settings = config(**flags)
    assert settings.front_ends == ()
    assert any(f"has no effect without --f5-vserver-address; on the BIG-IP, set {place}" in text
               for text in settings.warnings)

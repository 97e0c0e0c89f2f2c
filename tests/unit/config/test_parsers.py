"""Parsers of settings: good texts become values, bad ones ValueError."""

import pytest

from f5router.config import parsers
from f5router.config.options import OPTIONS
from tests.rows import rows

BAD = [
    ("f5-host", "http://bigip"), ("f5-host", "ftp://bigip"), ("f5-host", "https://admin:geheim@bigip"),
    ("f5-host", "bigip/path"), ("f5-host", "https://bigip?x"), ("f5-host", "big ip"), ("f5-host", "https://"),
    ("f5-host", "bigip:0"), ("f5-host", "bigip:65536"), ("f5-host", "bigip:"), ("f5-host", "bigip:x"),
    ("f5-host", "10.0.0.999"), ("f5-host", "10.0.0"), ("f5-host", "[::1"), ("f5-host", "[::1]x"),
    ("f5-host", "[10.0.0.1]"), ("f5-host", "fe80::1%eth0"), ("f5-host", "a:b:c"), ("f5-host", "-a.b"),
    ("f5-host", "a..b"), ("f5-host", "a\nb"), ("f5-host", "a" * 64), ("f5-host", "[::1]:0"),
    ("f5-username", "a:b"), ("f5-username", "a\nb"), ("f5-password", "a\nb"),
    ("f5-insecure", "yes"), ("f5-insecure", ""), ("f5-insecure", "tRUE"), ("update-status", "on"),
    ("f5-partition-path", "/a/../b"), ("f5-partition-path", ".."), ("f5-partition-path", "/"),
    ("f5-partition-path", "/a b"), ("f5-partition-path", "/ä"), ("f5-partition-path", "/a~b"),
    ("f5-partition-path", "/a\n"),
    ("f5-host", "a,"), ("f5-host", "a,b,A"), ("f5-host", ",".join("abcdefghi")), ("f5-host", "a b"),
    ("f5-node-partition", "/a/b"), ("f5-node-partition", "/a b"), ("f5-node-partition", "/"),
    ("labels", "a b"), ("namespace-labels", ",a"), ("project-labels", "a in b"), ("fields", "a"),
    ("f5-http-vserver", "/Common/v"), ("f5-http-vserver", "a b"), ("f5-https-vserver", "a/b"),
    ("f5-https-vserver", "a~b"), ("f5-https-vserver", "v\n"),
    ("f5-auth", "Token"), ("f5-auth", ""), ("cert-upload", "scp"),
    ("log-format", "JSON"), ("log-level", "loud"), ("log-level", ""),
    ("f5-connect-timeout", "0"), ("f5-connect-timeout", "10s"), ("f5-timeout", "0"), ("f5-timeout", "-1"),
    ("f5-timeout", "nan"), ("f5-timeout", "inf"), ("f5-timeout", "1e2"), ("f5-timeout", "3601"),
    ("f5-max-in-flight", "0"), ("f5-max-in-flight", "33"), ("f5-max-in-flight", "4.0"),
    ("f5-max-in-flight", "٤"), ("f5-ssh-port", "0"), ("f5-ssh-port", "65536"), ("f5-ssh-port", "9" * 5000),
    ("f5-ssh-host-key", "SHA256:abc"), ("f5-ssh-host-key", "ssh-rsa AAAA"),
    ("f5-ssh-host-key", "SHA256:" + "a" * 43 + ","), ("f5-ssh-host-key", "MD5:00:11"),
    ("f5-pool-monitor", "tcp"), ("f5-pool-monitor", "/Common/a,"), ("f5-pool-monitor", "/Common/a /Common/b"),
    ("f5-pool-monitor", "/Common/a,/Common/a"), ("f5-pool-monitor", "min 0 of /Common/a"),
    ("f5-pool-monitor", "min 3 of /Common/a /Common/b"), ("f5-pool-monitor", "min 1 of"),
    ("f5-pool-monitor", "min 1 of { /Common/a"), ("f5-pool-monitor", "min x of /Common/a"),
    ("f5-pool-monitor", "/Common/a;x"), ("f5-pool-monitor", "none,/Common/a"),
    ("backend-check-interval", "0"), ("backend-check-interval", "1m30s"), ("backend-check-interval", "5 s"),
    ("f5-resync-interval", "5"), ("f5-resync-interval", "500ms"), ("f5-resync-interval", "5 m"),
    ("f5-resync-interval", "-5m"), ("f5-resync-interval", "0"), ("f5-resync-interval", ""),
    ("resync-interval", "1d"), ("resync-interval", "0"), ("hold-off", "-1s"), ("hold-off", "1.2.3s"),
    ("hold-off", "1.s.5"), ("status-rate", "0"), ("status-rate", "1001"),
    ("router-canonical-hostname", "10.0.0.1"), ("router-canonical-hostname", "::1"),
    ("router-canonical-hostname", "A.example.com"), ("router-canonical-hostname", "a_b"),
    ("router-canonical-hostname", "a."), ("router-canonical-hostname", "a.b\n"),
    ("namespace", "A"), ("namespace", "a.b"), ("namespace", "a" * 64), ("namespace", "a\n"),
    ("master", "ftp://m"), ("master", "https://"), ("master", "https://m:x"), ("master", "https://u:p@m"),
    ("listen-addr", "localhost"), ("listen-addr", "1936"), ("listen-addr", "10.0.0.1:65536"),
    ("listen-addr", ":"), ("listen-addr", ":x"), ("listen-addr", "::1"), ("listen-addr", "a b:1"),
    ("stats-port", "65536"), ("stats-port", ":1936"),
]




@rows(("name", "text"), BAD, ids=lambda text: repr(text[:40]))
def test_bad(name, text):
    """Refused, in words of one line."""
    with pytest.raises(ValueError, match=r"^.+\Z") as caught:
        OPTIONS[name].parse(text)
    assert len(caught.value.args) == 1


@pytest.mark.parametrize(("text", "host", "ssh_host"), [
    ("bigip", "bigip", "bigip"),
    ("bigip.example.com:8443", "bigip.example.com:8443", "bigip.example.com"),
    ("https://bigip", "bigip", "bigip"),
    ("HTTPS://bigip:443/", "bigip:443", "bigip"),
    ("192.0.2.1", "192.0.2.1", "192.0.2.1"),
    ("https://192.0.2.1:8443", "192.0.2.1:8443", "192.0.2.1"),
    ("[2001:db8::1]:8443", "[2001:db8::1]:8443", "2001:db8::1"),
    ("[2001:db8::1]", "[2001:db8::1]", "2001:db8::1"),
    ("2001:db8::1", "[2001:db8::1]", "2001:db8::1"),
    ("https://[::1]/", "[::1]", "::1"),
    ("big_ip-1.example", "big_ip-1.example", "big_ip-1.example"),
])
def test_host(text, host, ssh_host):
    """For URLs with port and brackets, for SSH without."""
    assert parsers.host(text) == (host, ssh_host)


@pytest.mark.parametrize(("text", "folder"), [
    ("/Common", "/Common"), ("Common", "/Common"), ("a/b", "/a/b"), ("//a//b/", "/a/b"),
    ("/a/./b", "/a/b"), ("/a-1/b_2/c.3", "/a-1/b_2/c.3"), ("", ""),
])
def test_partition_path(text, folder):
    """Cleaned like Go's path.Join("/", p)."""
    assert parsers.partition_path(text) == folder


@pytest.mark.parametrize(("text", "monitor"), [
    ("/Common/tcp", "/Common/tcp"),
    ("/Common/a,/Common/b", "/Common/a and /Common/b"),
    ("/Common/a , /p/f/b", "/Common/a and /p/f/b"),
    ("/Common/a and /Common/b", "/Common/a and /Common/b"),
    ("min 1 of /Common/http /Common/https", "min 1 of { /Common/http /Common/https }"),
    ("min 2 of { /Common/a /Common/b }", "min 2 of { /Common/a /Common/b }"),
    ("min 1 of {/Common/a}", "min 1 of { /Common/a }"),
    ("min 1 of /Common/a, /Common/b", "min 1 of { /Common/a /Common/b }"),
    ("none", ""), ("", ""),
])
def test_pool_monitor(text, monitor):
    """As the device reads it back; reading its own form again changes nothing."""
    assert parsers.pool_monitor(text) == monitor
    assert parsers.pool_monitor(monitor) == monitor


@pytest.mark.parametrize(("text", "seconds"), [
    ("1h", 3600), ("1m30s", 90), ("1.5h", 5400), (".5m", 30), ("1000ms", 1), ("2000000us", 2),
    ("1h0m0.5s", 3600.5), ("3000000µs", 3), ("3000000000ns", 3), ("1.s", 1),
])
def test_duration(text, seconds):
    """Go durations, in seconds."""
    assert parsers.duration(0)(text) == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "level"), [
    ("debug", "debug"), ("INFO", "info"), ("notice", "info"), ("warning", "warning"), ("warn", "warning"),
    ("error", "error"), ("err", "error"), ("crit", "critical"), ("alert", "critical"), ("emerg", "critical"),
])
def test_log_level(text, level):
    """Our words and syslog's."""
    assert parsers.log_level(text) == level


@pytest.mark.parametrize(("text", "version"), [
    ("TLSv1.0", "1.0"), ("TLSv1.3", "1.3"), ("VersionTLS12", "1.2"), ("1.2", "1.2"),
    ("SSLv3", None), ("TLSv1", None), ("VersionTLS14", None), ("tlsv1.2", None), ("1.2 ", None), ("", None),
])
def test_tls_version(text, version):
    """HAProxy's words and OpenShift's."""
    if version:
        assert parsers.tls_version(text) == version
        return
    with pytest.raises(ValueError, match=r"is not one of TLSv1\.0, .*TLSv1\.3$"):
        parsers.tls_version(text)


@pytest.mark.parametrize(("text", "key"), [
    ("SHA256:" + "a" * 43 + "=", "SHA256:" + "a" * 43),
    ("MD5:" + ":".join(["AB"] * 16), ":".join(["ab"] * 16)),
    (f"SHA256:{'a' * 43}, SHA256:{'b' * 43}", f"SHA256:{'a' * 43},SHA256:{'b' * 43}"),
])
def test_host_key(text, key):
    """Fingerprints of ssh-keygen, in the form that icontrol.ssh compares."""
    assert parsers.host_key(text) == key


def test_master_scheme():
    """https where no scheme is written: kube.connection needs one."""
    assert parsers.url("m:8443") == "https://m:8443"


def test_virtual_server_path():
    """The problem of a path in place of a name says where the folder is set."""
    with pytest.raises(ValueError, match="--f5-partition-path"):
        parsers.virtual_server("/Common/ose-vserver")


@pytest.mark.parametrize(("text", "expected"), [
    (":1936", ("", 1936)), ("0.0.0.0:1936", ("0.0.0.0", 1936)), ("[::]:1936", ("::", 1936)),
    ("localhost:0", ("localhost", 0)), ("none", None),
])
def test_listen(text, expected):
    """As Go's net.Listen takes it."""
    assert parsers.listen(text) == expected


def test_a_host_with_a_path_is_named_so():
    """Not as a port out of range: the address was copied with its path."""
    with pytest.raises(ValueError, match="'https://bigip:8443/mgmt' has a path; give HOST or HOST:PORT"):
        parsers.host("https://bigip:8443/mgmt")

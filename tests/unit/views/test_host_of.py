"""requests.py: the Host that a text means."""

from f5router.views.requests import host_of
from tests.rows import rows


@rows(("text", "host"), [
    ("www.example.com", "www.example.com"), ("WWW.example.com.", "www.example.com"),
    ("www.example.com:443", "www.example.com"), ("https://www.example.com/a?b", "www.example.com"),
    ("http://www.example.com.:80/", "www.example.com"), ("www.example.com/x", "www.example.com"),
    ("*.example.com", "*.example.com"), ("", ""), ("x[.com", "x[.com"),
])
def test_host_of(text, host):
    assert host_of(text) == host

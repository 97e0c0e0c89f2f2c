"""IDs of requests: whose requests have one. Their form is compared with HAProxy in tests/differential."""

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_headers import VERSIONS

FLAGS = {"unique_id_header_name": "X-Unique-ID", "set_forwarded_headers": "never"}


def ids(site: Site, host: str, *, count: int = 1, tls: bool = False) -> list[list[str]]:
    """Return the values of the header in each request of a connection."""
    requests = [clients.request_bytes(host, close=number == count) for number in range(1, count + 1)]
    replies = clients.several(site.https if tls else site.http, *requests, sni=host if tls else None)
    return [[value for name, value in reply.pod["headers"] if name == "X-Unique-ID"] for reply in replies]


@pytest.mark.parametrize("version", VERSIONS)
def test_requests(site_of, version):
    """Each has one of its own, on one connection or several, unless its TLS is passed through."""
    site = site_of(tmos_version=version)
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.apply(
        manifests.route("web"), manifests.route("edge", host="edge.example.com", kind="edge"),
        manifests.route("through", host="through.example.com", kind="passthrough", service="tls"))
    assert site.converge(**FLAGS) == []
    headers = [*ids(site, "www.example.com", count=3), *ids(site, "www.example.com"),
            *ids(site, "edge.example.com", count=2, tls=True)]
    assert [len(values) for values in headers] == [1] * 6
    assert len({value for values in headers for value in values}) == 6
    assert ids(site, "through.example.com", tls=True) == [[]]
    assert site.converge(set_forwarded_headers="never") == []
    assert ids(site, "www.example.com") == [[]]

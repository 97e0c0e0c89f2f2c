"""Requests to the hosts of Ingresses: which Service gets them.

path: Kubernetes, Ingress, "Path types" and its table of examples, whose rows are here as they are there.
"""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_unavailable import is_page

PATHS = {  # host: path, path type and Service of each path of its Ingress
    "all.example.com": [("/", "Prefix", "a")],
    "prefix.example.com": [("/foo", "Prefix", "a")],
    "slash.example.com": [("/foo/", "Prefix", "a")],
    "element.example.com": [("/aaa/bbb", "Prefix", "a")],
    "longest.example.com": [("/", "Prefix", "a"), ("/aaa", "Prefix", "b"), ("/aaa/bbb", "Prefix", "c")],
    "own.example.com": [("/foo", "ImplementationSpecific", "a"), ("", "", "b")],
}
REQUESTS = [  # host, path of the request, Service; "" for none
    ("all.example.com", "/", "a"), ("all.example.com", "/any/path", "a"),
    ("prefix.example.com", "/foo", "a"), ("prefix.example.com", "/foo/", "a"),
    ("prefix.example.com", "/foo/bar", "a"), ("prefix.example.com", "/foobar", ""),
    ("prefix.example.com", "/", ""),
    ("slash.example.com", "/foo", "a"), ("slash.example.com", "/foo/", "a"),
    ("element.example.com", "/aaa/bbb", "a"), ("element.example.com", "/aaa/bbb/ccc", "a"),
    ("element.example.com", "/aaa/bb", ""), ("element.example.com", "/aaa/bbbxyz", ""),
    ("longest.example.com", "/aaa/bbb/c", "c"), ("longest.example.com", "/aaa/ccc", "b"),
    ("longest.example.com", "/ccc", "a"),
    ("own.example.com", "/foo/x", "a"), ("own.example.com", "/x", "b"),
    ("unknown.example.com", "/", ""),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        for number, service in enumerate("abc", 1):
            site.serve(service, f"10.1.1.{number}")
        site.apply(manifests.ingress_class())
        for host, paths in PATHS.items():
            site.apply(manifests.ingress(
                host, *((host, path, service, 8080, kind) for path, kind, service in paths)))
        assert site.converge(sources="ingress") == []
        yield site
        assert site.faults() == []


@pytest.mark.parametrize(("host", "path", "name"), REQUESTS, ids=[f"{row[0]}{row[1]}" for row in REQUESTS])
def test_paths(site, host, path, name):
    reply = clients.plain(site.http, host, path)
    assert reply.pod or is_page(reply), reply
    assert reply.pod.get("pod", "").rpartition("-")[0] == name

"""rewrite-target: our router against HAProxy's."""

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.differences import DIFFERENCES, REWRITE
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request, in_turn
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KEY = f"{HAPROXY}rewrite-target"
TARGETS = {
    "root": "/", "new": "/new", "slash": "/new/", "twice": "//", "fixed": "/new#", "nothing": "/#",
    "quotes": "/\"a\"'b'", "escaped": r"/\"a\'b\#c", "percent": "/%20%%41%%%", "backslash": r"/a\b",
    "query": "/new?a=b", "specials": "/$x[y]{z};&(a|b)*+", "relative": "new", "blank": " /new",
}
"""Name of a host: the annotation of its Route."""
PATHS = {"none": "", "all": "/", "app": "/app", "below": "/app/", "deep": "/app/v1", "plus": "/app-1_x~"}


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    for name, target in TARGETS.items():
        for suffix, path in PATHS.items():
            obj = annotated(f"{name}-{suffix}", "", {KEY: target}, path=path)
            obj["metadata"]["name"] = f"{name}-{suffix}"
            site.apply(obj)
    for kind in ("edge", "reencrypt", "passthrough"):
        site.apply(annotated("app", kind, {KEY: "/new"}, path="/app" if kind != "passthrough" else ""))
    site.apply(annotated("moved", "edge", {KEY: "/new"}, path="/app", insecure="Redirect"))
    for name, target, path in (("regex", "/new", "/a+b"), ("groups", r"/a\\1", "/app")):
        obj = annotated(name, "", {KEY: target}, path=path)
        obj["metadata"]["name"] = name
        site.apply(obj)


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build)


def seen(router: Router, host: str, path: str, *, secure: bool = False) -> tuple[int, str]:
    """Return the status, and the target that the pod got or where a redirect leads."""
    return result(Request(host, path, secure=secure).send(router))


def result(answer: clients.Seen) -> tuple[int, str]:
    return answer.status, answer.pod["target"] if answer.pod else answer.location


REQUESTS = ("", "/", "//", "/x", "/x/y", "//x", "/%2f%41", "/x;y=[z]", "?a=b", "/?a=/app", "/x?a?b")


@pytest.mark.parametrize("suffix", PATHS)
@pytest.mark.parametrize("name", TARGETS)
def test_targets(pair, name, suffix):
    base, host = PATHS[suffix].rstrip("/"), f"{name}-{suffix}.example.com"
    paths = [f"{base}{rest}" for rest in REQUESTS if f"{base}{rest}".startswith("/")]
    theirs, ours = pair.both(lambda router: dict(zip(paths, map(result, in_turn(
        router, host, [(path, ()) for path in paths], secure=False)), strict=True)))
    assert ours == theirs


@pytest.mark.parametrize("kind", ["edge", "reencrypt", "passthrough"])
@pytest.mark.parametrize("path", ["/app", "/app/x?y", "/apple", "/"])
def test_kinds(pair, kind, path):
    theirs, ours = pair.both(lambda router: seen(router, f"app-{kind}.example.com", path, secure=True))
    assert ours == theirs


def test_redirects(pair):
    theirs, ours = pair.both(lambda router: seen(router, "moved-edge.example.com", "/app/x?y"))
    assert ours == theirs == (302, "https://moved-edge.example.com/app/x?y")


def test_targets_with_an_origin(pair):
    """The origin stays; the path behind it is rewritten."""
    host = "new-app.example.com"
    theirs, ours = pair.both(lambda router: seen(router, host, f"http://{host}/app/x?y"))
    assert ours == theirs


@pytest.mark.parametrize("difference", [each for each in DIFFERENCES if each.cluster == REWRITE],
                         ids=lambda difference: difference.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)

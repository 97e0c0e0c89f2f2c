"""One cluster with every kind of broken Route next to good ones, as an older API server let them in."""

from contextlib import ExitStack

import pytest

from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.waiting import DEADLINE_S

ONE, OTHER, OLD = identity(), identity(serial=1), identity("expired.example.com", expired=True)
PAIR = {"certificate": ONE.certificate, "key": ONE.key}
TORN = ONE.certificate.replace("\n", "\nAAAA", 3)
LONG_PATH = "/" + "x" * 1999
VALIDATION = "ExtendedValidationFailed"

BROKEN = {
    # name: (what the manifest has, reason, beginning of the message)
    "host-none": ({"host": ""}, "NoHostValue", "spec.host: "),
    "host-upper": ({"host": "Upper.example.com"}, "InvalidHost", "spec.host: 'Upper.example.com': "),
    "host-star": ({"host": "*.example.com"}, "InvalidHost", "spec.host: '*.example.com': "),
    "host-just-a-star": ({"host": "*"}, "InvalidHost", "spec.host: '*': "),
    "host-too-long": ({"host": ".".join(["x" * 50] * 5)}, "InvalidHost", "spec.host: '" + "x" * 50 + "."),
    "host-other-case": ({"host": "Good-Plain.example.com", "created": "2020-01-01T00:00:00Z"},
                        "InvalidHost", "spec.host: 'Good-Plain.example.com': upper-case"),
    "host-underscore": ({"host": "a_b.example.com"}, "InvalidHost", "spec.host: 'a_b.example.com': "),
    "host-dot": ({"host": "dot.example.com."}, "InvalidHost", "spec.host: 'dot.example.com.': "),
    "host-tcl": ({"host": "a[exit].com"}, "InvalidHost", "spec.host: 'a[exit].com': "),
    "path-no-slash": ({"path": "foo"}, VALIDATION, "spec.path: 'foo' must begin"),
    "path-newline": ({"path": "/a\nb"}, VALIDATION, "spec.path: '/a\\nb' may hold"),
    "path-control": ({"path": "/a\x7f"}, VALIDATION, "spec.path: '/a\\x7f' may hold"),
    "path-too-long": ({"path": LONG_PATH + "x"}, VALIDATION, "spec.path: 2001 characters"),
    "path-query": ({"path": "/a?b"}, VALIDATION, "spec.path: '/a?b' holds"),
    "cert-text": ({"kind": "edge", "certificate": "no", "key": "no"}, VALIDATION, "spec.tls.certificate: "),
    "cert-torn": (
        {"kind": "edge", "certificate": TORN, "key": ONE.key}, VALIDATION,
        "spec.tls.certificate: certificate 1 does not parse"),
    "cert-other-key": (
        {"kind": "edge", "certificate": ONE.certificate, "key": OTHER.key}, VALIDATION,
        "spec.tls.key: the key does not match"),
    "cert-no-key": (
        {"kind": "reencrypt", "certificate": ONE.certificate}, VALIDATION, "spec.tls.key: "),
    "key-no-pem": (
        {"kind": "edge", "key": "-----BEGIN X-----\n-----END X-----"}, VALIDATION, "spec.tls.key: "),
    "key-encrypted": (
        {"kind": "edge", "certificate": ONE.certificate,
         "key": ONE.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")},
        VALIDATION, "spec.tls.key: "),
    "pass-path": ({"kind": "passthrough", "path": "/a"}, VALIDATION, "spec.path: passthrough"),
    "pass-cert": ({"kind": "passthrough", **PAIR}, VALIDATION, "spec.tls.certificate: passthrough"),
    "pass-allow": (
        {"kind": "passthrough", "insecure": "Allow"}, VALIDATION,
        "spec.tls.insecureEdgeTerminationPolicy: 'Allow'"),
    "kind-unknown": ({"kind": "Edge"}, VALIDATION, "spec.tls.termination: 'Edge' is unknown"),
    "service-name": ({"service": "web;drop"}, VALIDATION, "spec.to.name: 'web;drop'"),
    "port-name": ({"port": "a b"}, VALIDATION, "spec.port.targetPort: 'a b'"),
    "same-path": ({"host": "twice.example.com", "path": "/x", "created": "2026-02-01T00:00:00Z"},
                  "HostAlreadyClaimed", "spec.host: route twice already exposes"),
}

ODD = {
    # Upstream serves these, so do we: taken literally.
    "dots": "/a/../b", "escape": "/%2e%2e/x", "quotes": "/\"'", "braces": "/{a}[b]", "dollar": "/$x;`y`",
    "backslash": "/a\\b", "long": LONG_PATH, "blank": "/a b",
}

WARNED = {
    "service-missing": ({"service": "nowhere"}, "ServiceNotFound",
        "spec.to.name: there is no Service nowhere"),
    "no-endpoints": ({"service": "idle"}, "NoEndpoints",
        "spec.to.name: Service idle has no ready endpoints"),
    "no-port": ({"port": "admin"}, "ServicePortNotFound",
        "spec.port.targetPort: Service web has no port admin"),
    "no-port-number": ({"port": 9}, "ServicePortNotFound",
        "spec.port.targetPort: Service web has no port 9"),
    "key-no-cert": ({"kind": "edge", "key": ONE.key}, "CertificateNotUsed",
        "spec.tls.key: there is a key without a certificate"),
    "expired": ({"kind": "edge", "certificate": OLD.certificate, "key": OLD.key}, "CertificateExpired",
        "spec.tls.certificate: it expired on 2024-08-19T00:00:00Z"),
    "other-host": ({"kind": "edge", "certificate": OTHER.certificate, "key": OTHER.key},
        "CertificateNameMismatch",
        "spec.tls.certificate: it is not for other-host.example.com but for www.example.com"),
    "unverified": ({"kind": "reencrypt"}, "UnverifiedPods",
        "spec.tls.destinationCACertificate: not set"),
}

GOOD = {
    "good-plain": {}, "good-edge": {"kind": "edge", **PAIR}, "good-pass": {"kind": "passthrough"},
    "twice": {"host": "twice.example.com", "path": "/x"},
}


def _host(name: str) -> dict:
    return {"host": f"{name}.example.com"}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A lab with all of them, after one `run --once`."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("crowd"))
        lab.virtuals()
        lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
        lab.apply(*manifests.service("shop", "idle"))
        specs = {name: spec for name, (spec, *_) in (BROKEN | WARNED).items()}
        specs |= {name: {"path": path} for name, path in ODD.items()} | GOOD
        lab.apply(*(manifests.route(name, **(_host(name) | spec)) for name, spec in specs.items()))
        router = lab.router()
        lab.reasons = lab.converge(router)
        assert router.reporter.events.flush(DEADLINE_S)
        yield lab


def _ask(lab, host: str, path: str = "/", *, tls: bool = False):
    virtual = f"/Common/{HTTPS if tls else HTTP}"
    return decide(lab.bigip.store, virtual, Request(host, path, sni=host if tls else None, tls=tls))


def test_bad_input_is_no_failure_of_the_run(crowd):
    """`run --once` ends with success: everything that can be served is."""
    assert crowd.reasons == []


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_route_says_why(crowd, name):
    """Reason and field in its status, the same in an Event, one printable line, no key material."""
    _, reason, begins = BROKEN[name]
    condition = crowd.admitted("shop", name)
    assert (condition["status"], condition["reason"]) == ("False", reason)
    message = condition["message"]
    assert message.startswith(begins)
    assert message.isprintable()
    assert len(message) < 300
    assert "-----" not in message
    assert (reason, message) in _events(crowd, name)


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_of_a_broken_route_is_on_the_device(crowd, name):
    stem = f"openshift_route_shop_{name}"
    for kind in ("sys/file/ssl-cert", "sys/file/ssl-key"):
        assert not [path for path in crowd.paths(kind) if path.startswith(f"/Common/{stem}-https")]
    for policy in ("openshift_insecure_routes", "openshift_secure_routes"):
        rules = crowd.bigip.get(f"ltm/policy/~Common~{policy}")["rulesReference"]["items"]
        assert stem not in {rule["name"] for rule in rules}


@pytest.mark.parametrize(("name", "tls"), [
    ("good-plain", False), ("good-edge", True), ("good-pass", True), ("expired", True)])
def test_no_other_route_is_affected(crowd, name, tls):
    """The good ones are admitted and served."""
    assert crowd.admitted("shop", name)["status"] == "True"
    decision = _ask(crowd, f"{name}.example.com", tls=tls)
    assert (decision.pool, decision.members) == ("/Common/openshift_shop_web", ("10.1.1.1:8080",))


def test_the_older_of_two_routes_with_one_host_and_path_is_served(crowd):
    assert crowd.admitted("shop", "twice")["status"] == "True"
    assert _ask(crowd, "twice.example.com", "/x").rule.endswith("openshift_route_shop_twice")


@pytest.mark.parametrize("name", ODD)
def test_odd_paths_are_taken_literally(crowd, name):
    """They match themselves and what lies below, and nothing that a shell, Tcl or a URL makes of them."""
    path = ODD[name]
    assert crowd.admitted("shop", name)["status"] == "True"
    for asked in (path, f"{path}/below"):
        assert _ask(crowd, f"{name}.example.com", asked).kind == "pool"
    for asked in {"/b", "/", "/../x", "/..", f"{path}y", path[:-1], path.swapcase()} - {path}:
        assert _ask(crowd, f"{name}.example.com", asked).kind == "unavailable", asked


@pytest.mark.parametrize("name", WARNED)
def test_what_is_served_with_a_warning(crowd, name):
    """Admitted, as upstream does, and an Event that names the field."""
    assert crowd.admitted("shop", name)["status"] == "True"
    (event,) = _events(crowd, name)
    _, reason, begins = WARNED[name]
    assert event[0] == reason
    assert event[1].startswith(begins)


def test_all_recover_by_themselves(lab):
    """The cause goes, the Route comes: no restart, nothing to repair by hand."""
    specs = {name: spec for name, (spec, *_) in BROKEN.items()}
    lab.apply(*(manifests.route(name, **(_host(name) | spec)) for name, spec in specs.items()))
    router = lab.router()
    assert lab.converge(router) == []
    lab.apply(*(manifests.route(name, **_host(name)) for name in specs))
    lab.settle(router)
    states = {name: lab.admitted("shop", name)["status"] for name in specs}
    assert set(states.values()) == {"True"}, states
    for name in specs:
        assert _ask(lab, f"{name}.example.com").kind == "pool"


def test_a_mistake_that_comes_back_is_told_again(lab):
    """The Event of the first time counts up."""
    router = lab.router()
    for path in ("no-slash", "/good", "no-slash"):
        lab.apply(manifests.route("a", path=path))
        lab.settle(router)
        assert router.reporter.events.flush(DEADLINE_S)
    (event,) = (event for event in lab.kube.list("Event", "shop") if event["involvedObject"]["name"] == "a")
    assert event["count"] == 2


def _events(lab, route: str) -> set[tuple[str, str]]:
    """Reason and message of the Events about a Route."""
    return {(event["reason"], event["message"]) for event in lab.kube.list("Event", "shop")
            if event["involvedObject"]["name"] == route}


def test_annotations_without_effect(lab):
    """Nobody takes a restriction for enforced that is not; other keys are told, and the Route is served."""
    closed, odd = manifests.route("closed", host="closed.example.com"), manifests.route("odd")
    closed["metadata"]["annotations"] = {"virtual-server.f5.com/waf": "/Common/strict"}
    odd["metadata"]["annotations"] = {"haproxy.router.openshift.io/unknown": "1", "note": "x"}
    odd["spec"]["httpHeaders"] = {"actions": {"response": [{"name": "X-Frame-Options"}]}}
    lab.apply(closed, odd)
    lab.converge()
    assert lab.admitted("shop", "closed")["reason"] == "RouteNotAdmitted"
    assert lab.admitted("shop", "odd")["status"] == "True"
    texts = {event["message"] for event in lab.kube.list("Event") if event["involvedObject"]["name"] == "odd"}
    assert texts == {
        "metadata.annotations: haproxy.router.openshift.io/unknown is not supported by this router; it"
        " has no effect",
        "spec.httpHeaders.actions.response[0]: an action has a name and an action; this action has no effect"}

"""503 where no Route matches or no pod is available: what is on the BIG-IP, and what requests get."""

import pytest

from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS

RULE = "/Common/openshift_unavailable_irule"
REQUEST = "/Common/openshift_request_irule"
COOKIE = "/Common/openshift_session_cookie_irule"
HEADERS = "/Common/openshift_headers_irule"
PASSTHROUGH = "/Common/openshift_passthrough_irule"
VIRTUALS = {False: f"/Common/{HTTP}", True: f"/Common/{HTTPS}"}


def ask(lab, host: str, path: str = "/", *, tls: bool = False):
    return decide(lab.bigip.store, VIRTUALS[tls], Request(host, path, sni=host if tls else None, tls=tls))


def rules(lab, tls: bool) -> list[str]:
    return lab.bigip.get(f"ltm/virtual/{VIRTUALS[tls].replace('/', '~')}").get("rules", [])


def test_what_it_costs(lab):
    """One iRule, its place on both virtual servers, and the page in the one that refuses names."""
    lab.converge(f5_503_page="false")
    lab.clear()
    assert lab.converge() == []
    # Of these the first two depend on nothing, so they are sent at once.
    assert [*sorted(lab.writes()[:2]), *lab.writes()[2:]] == [
        ("PATCH", f"/mgmt/tm/ltm/rule/{REQUEST.replace('/', '~')}"),
        ("POST", "/mgmt/tm/ltm/rule"),
        ("PATCH", f"/mgmt/tm/ltm/virtual/~Common~{HTTPS}"),
        ("PATCH", f"/mgmt/tm/ltm/virtual/~Common~{HTTP}"),
    ]
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_switched_off(lab):
    """Existing objects go, and nothing else changes."""
    lab.apply(manifests.route("a"))
    assert lab.converge(f5_503_page="false") == []
    without = (rules(lab, False), rules(lab, True), lab.paths("ltm/rule"))
    assert RULE not in without[2]
    assert ask(lab, "nobody.example.com").kind == "none"
    assert lab.converge() == []
    assert RULE in lab.paths("ltm/rule")
    lab.clear()
    assert lab.converge(f5_503_page="false") == []
    assert (rules(lab, False), rules(lab, True), lab.paths("ltm/rule")) == without
    # Off the virtual servers before it is deleted.
    assert [method for method, _ in lab.writes()] == ["PATCH", "PATCH", "PATCH", "DELETE"]
    assert ask(lab, "www.example.com").kind == "pool"


@pytest.mark.parametrize("tls", [False, True], ids=["HTTP", "HTTPS"])
def test_requests(lab, tls):
    """No Route for the host, none for the path, no pod; and back when the pod is there."""
    kind = {"kind": "edge"} if tls else {}
    lab.apply(
        manifests.route("a", path="/app", **kind),
        *manifests.service("shop", "empty", pods=()),
        manifests.route("b", host="empty.example.com", service="empty", **kind),
    )
    router = lab.router()
    assert lab.converge(router) == []
    assert ask(lab, "www.example.com", "/app", tls=tls).kind == "pool"
    assert ask(lab, "www.example.com", "/other", tls=tls).kind == "unavailable"
    assert ask(lab, "nobody.example.com", tls=tls).kind == "unavailable"
    decision = ask(lab, "empty.example.com", tls=tls)
    assert (decision.kind, decision.pool) == ("unavailable", "/Common/openshift_shop_empty")
    lab.apply(manifests.endpoints("shop", "empty", ("10.1.1.9",)))
    lab.settle(router)
    decision = ask(lab, "empty.example.com", tls=tls)
    assert (decision.kind, decision.members) == ("pool", ("10.1.1.9:8080",))
    lab.apply(manifests.endpoints("shop", "empty", ()))
    lab.settle(router)
    assert ask(lab, "empty.example.com", tls=tls).kind == "unavailable"


def test_redirects_and_passthrough(lab):
    """A redirect needs no pod; passthrough without a pod stays a reset."""
    lab.apply(
        *manifests.service("shop", "empty", pods=()),
        manifests.route("r", host="r.example.com", service="empty", kind="edge",
                        insecure="Redirect"),
        manifests.route("p", host="p.example.com", service="empty", kind="passthrough"),
    )  # fmt: skip
    assert lab.converge() == []
    assert ask(lab, "r.example.com").kind == "redirect"
    assert ask(lab, "r.example.com", tls=True).kind == "unavailable"
    decision = ask(lab, "p.example.com", tls=True)
    assert (decision.kind, decision.members) == ("passthrough", ())


def test_default_pool_of_the_virtual_server(lab):
    """It keeps what no Route matches, up or down; pods that are not there are a 503 all the same."""
    lab.bigip.put_object("ltm/pool", {"name": "admins", "partition": "Common", "members": ["10.9.9.9:80"]})
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTP}", {"pool": "/Common/admins"})
    lab.apply(*manifests.service("shop", "empty", pods=()), manifests.route("a", service="empty"))
    assert lab.converge() == []
    decision = ask(lab, "nobody.example.com")
    assert (decision.kind, decision.pool, decision.members) == ("pool", "/Common/admins", ("10.9.9.9:80",))
    assert ask(lab, "www.example.com").kind == "unavailable"
    lab.change("PATCH", "ltm/pool/~Common~admins", {"members": []})
    assert ask(lab, "nobody.example.com").kind == "pool"


def test_one_virtual_server(make_lab):
    """The rule is on the one that there is."""
    lab = make_lab()
    lab.virtuals(https=False)
    assert lab.converge(f5_https_vserver="") == []
    assert rules(lab, False) == [REQUEST, HEADERS, COOKIE, RULE]


def refusals(caplog) -> list[tuple[str, str]]:
    """Return what the log tells of refused changes: object and reason."""
    told = [record for record in caplog.records if record.message == "change refused"]
    return [(record.object, record.error) for record in told]


def test_without_http_profile(make_lab, caplog):
    """The virtual server cannot carry it; what is said is what is said of the policy, and the other works."""
    lab = make_lab()
    lab.virtuals(profiles=("/Common/tcp", "/Common/clientssl-default"))
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
    (reason,) = lab.converge()
    assert "an http profile is missing" in reason
    ((name, error),) = refusals(caplog)  # one cause, one message, however many rules there are
    assert name.startswith(f"ltm/virtual/attachment {VIRTUALS[True]}/")
    assert "an http profile is missing" in error
    assert rules(lab, False) == [REQUEST, HEADERS, COOKIE, RULE]
    assert rules(lab, True) == []
    assert lab.admitted("shop", "a")["status"] == "True"


@pytest.mark.parametrize("refused", [("POST", "ltm/rule"), ("PATCH", "ltm/virtual")], ids=" ".join)
def test_a_device_that_refuses_it(lab, caplog, refused):
    """It is logged, and makes `run --once` fail; no Route suffers."""
    lab.apply(
        manifests.route("a", kind="reencrypt"), manifests.route("p", host="p.example.com", kind="passthrough")
    )
    assert lab.converge(f5_503_page="false") == []
    before = rules(lab, True)
    method, path = refused
    lab.bigip.inject("refuse", times=None, method=method, path=path, status=400, message="01070151:3: no")
    router = lab.router()
    lab.apply(manifests.route("late", host="late.example.com"))
    (reason,) = lab.converge(router)
    assert RULE in reason
    assert "01070151:3: no" in reason
    told = refusals(caplog)
    assert len(told) == (1 if method == "POST" else 2)
    assert all(name.endswith(RULE) and "01070151:3: no" in reason for name, reason in told)
    assert {lab.admitted("shop", name)["status"] for name in ("a", "p", "late")} == {"True"}
    assert rules(lab, True) == before
    lab.bigip.clear_faults()
    assert lab.converge() == []
    assert rules(lab, True) == [*before, RULE]


def test_drift(lab):
    """Detached, changed or deleted by hand: it comes back."""
    lab.apply(manifests.route("a"))
    lab.converge()
    wanted = (rules(lab, False), rules(lab, True), lab.bigip.get(f"ltm/rule/{RULE.replace('/', '~')}"))
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTP}", {"rules": []})
    lab.change("PATCH", f"ltm/rule/{RULE.replace('/', '~')}", {"apiAnonymous": "when LB_FAILED { reject }"})
    assert lab.converge() == []
    assert (rules(lab, False), sorted(rules(lab, True))) == (wanted[0], sorted(wanted[1]))
    assert lab.bigip.get(f"ltm/rule/{RULE.replace('/', '~')}")["apiAnonymous"] == wanted[2]["apiAnonymous"]

"""Certificates in Secrets that Routes name: from the right to read them to the client SSL profile.

Longer than other modules: each way that a Secret may change is tried on the same Routes.
"""

import base64
from dataclasses import replace

import pytest

from f5router.cli import preflight
from f5router.kube.settings import SecretPace
from f5router.model.limits import Backoff
from f5router.model.ltm import Record, Rule
from mocks.bigip.traffic import Request, decide
from tests import manifests, waiting
from tests.builders import identity
from tests.feature.conftest import HTTP
from tests.feature.test_doctor import checks, doctor

ONE, TWO, THREE = (identity(serial=serial, algorithm="ec") for serial in (1, 2, 3))
PROFILE = "ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile"
REASON = "ExternalCertificateValidationFailed"

AT_ONCE = Backoff(0.01, 0.1)
PACE = SecretPace(again_per_s=500, refresh_s=0.1, hasten_s=0.0, absent=AT_ONCE, failed=AT_ONCE)


@pytest.fixture
def lab(lab):
    """Routers that read Secrets again at once."""
    lab.timing = replace(lab.timing, secret_pace=PACE)
    return lab


def edge(name: str = "b", secret: str = "tls", *, host: str = "b.com", **fields) -> dict:
    return manifests.route(name, host=host, kind="edge", externalCertificate={"name": secret}, **fields)


def secret(who, name: str = "tls", *, kind: str = "kubernetes.io/tls") -> dict:
    texts = {"tls.crt": who.certificate, "tls.key": who.key}
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name}, "type": kind,
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }


def served(lab) -> str:
    """The certificate that the BIG-IP has for the host, "" for none."""
    profile = lab.bigip.get(PROFILE)
    return lab.content(profile["cert"]) if profile else ""


def until(router, condition) -> None:
    """Reconcile until it holds."""
    def holds() -> bool:
        router.reconcile_once()
        return router.reporter.statuses.flush(waiting.DEADLINE_S) and condition()

    waiting.until(holds)


def test_rotation(lab):
    """Made, renewed, and with another name: the profile follows, and nothing is left of the old one."""
    lab.apply(edge(), secret(ONE), secret(THREE, "other"))
    router = lab.router()
    assert lab.converge(router) == []
    assert served(lab) == ONE.certificate
    assert lab.admitted("shop", "b")["status"] == "True"
    lab.apply(secret(TWO))
    until(router, lambda: served(lab) == TWO.certificate)
    lab.apply(secret(ONE), edge(secret="other"))
    until(router, lambda: served(lab) == THREE.certificate)
    paths = lab.paths("sys/file/ssl-cert") | lab.paths("sys/file/ssl-key")
    files = {path for path in paths if "-https-" in path}
    assert files == {lab.bigip.get(PROFILE)[name] for name in ("cert", "key")}


def test_the_end_of_the_secret(lab):
    """The Route goes, and tells why; its claim stays, so that nobody takes the host meanwhile."""
    other = manifests.route("late", namespace="bank", host="b.com", created="2026-02-01T00:00:00Z")
    lab.apply(edge(), secret(ONE), other)
    router = lab.router()
    lab.converge(router)
    assert lab.admitted("bank", "late")["reason"] == "HostAlreadyClaimed"
    lab.kube.delete("Secret", "shop", "tls")
    until(router, lambda: not served(lab))
    condition = lab.admitted("shop", "b")
    assert (condition["reason"], condition["message"]) == (
        REASON, "spec.tls.externalCertificate: Secret 'tls' not found")
    assert lab.admitted("bank", "late")["reason"] == "HostAlreadyClaimed"
    lab.apply(secret(TWO))
    until(router, lambda: lab.admitted("shop", "b").get("status") == "True")
    assert served(lab) == TWO.certificate


def test_the_right_to_read_it(lab):
    """Refused, the message has the commands; granted, the Route is served without anything else."""
    lab.apply(edge(), secret(ONE), manifests.route("plain"))
    lab.kube.forbid("secrets", ("get", "list", "watch"))
    router = lab.router()
    assert lab.converge(router) == []
    condition = lab.admitted("shop", "b")
    assert condition["reason"] == REASON
    assert "oc create role read-tls --verb=get,list,watch" in condition["message"]
    assert lab.admitted("shop", "plain")["status"] == "True"
    lab.kube.allow("secrets")
    until(router, lambda: lab.admitted("shop", "b").get("status") == "True")
    assert served(lab) == ONE.certificate


@pytest.mark.parametrize("restarts", [False, True])
def test_the_right_is_lost(lab, capsys, restarts):
    """A forbidden Secret is not gone: its certificate stays, over a restart, until it is deleted."""
    lab.timing = replace(lab.timing, secret_pace=replace(PACE, patience_s=0.0))
    ingress = manifests.ingress("i", ("i.com", "/", "web", 8080), tls=((("i.com",), "tls"),))
    lab.apply(edge(), secret(ONE), manifests.ingress_class(), ingress)
    router = lab.router()
    lab.converge(router)
    before = lab.paths("ltm/profile/client-ssl")
    lab.kube.forbid("secrets", ("get", "list", "watch"))
    lab.kube.inject("drop-watch", path="secrets")
    if restarts:
        router.close()
        router = lab.router()
        lab.converge(router)
    until(router, lambda: any("forbidden" in text for text in router.cluster.unread_secrets()))
    lab.converge(router)
    assert lab.paths("ltm/profile/client-ssl") == before
    assert served(lab) == ONE.certificate
    assert router.cluster.unread_secrets() == router.cluster.degraded()
    if restarts:
        until(router, lambda: "served as before" in lab.admitted("shop", "b")["message"])
    assert lab.admitted("shop", "b")["status"] == "True"
    assert preflight.plan(lab.config(), output="json") == 1
    told = capsys.readouterr().out
    assert "1 of the Secrets that Routes name cannot be read" in told
    assert '"delete": 0' in told
    warnings = checks(doctor(lab, "-o", "json"), "warning")
    assert any(check == "Secrets" and "Secret" in text for _, check, text in warnings)
    lab.kube.allow("secrets")
    lab.kube.delete("Secret", "shop", "tls")
    until(router, lambda: not served(lab))


@pytest.mark.parametrize(("given", "reason", "words"), [
    pytest.param(secret(ONE, kind="Opaque"), REASON, "is of type 'Opaque'", id="type"),
    pytest.param(secret(identity(), "nothing"), REASON, "not found", id="other name"),
    pytest.param({**secret(ONE), "data": {"tls.crt": "!", "tls.key": ""}}, "ExtendedValidationFailed",
                 "tls.crt: no certificate", id="no base64"),
    pytest.param({**secret(ONE), "data": secret(ONE)["data"] | {"tls.key": secret(TWO)["data"]["tls.key"]}},
                 "ExtendedValidationFailed", "tls.key: the key does not match", id="key of another"),
])
def test_bad_secrets(lab, caplog, given, reason, words):
    """They cost their Route, and no key is shown."""
    caplog.set_level("DEBUG")
    lab.apply(edge(), given, manifests.route("plain"))
    assert lab.converge() == []
    condition = lab.admitted("shop", "b")
    assert condition["reason"] == reason
    assert words in condition["message"]
    assert lab.admitted("shop", "plain")["status"] == "True"
    told = caplog.text + "".join(str(vars(record)) for record in caplog.records) + condition["message"]
    assert "PRIVATE" not in told
    assert secret(ONE)["data"]["tls.key"][40:80] not in told


def test_a_restart_changes_nothing(lab):
    """Not even while the Secret cannot be read for a while."""
    lab.apply(edge(), secret(ONE), edge("c", "tls", host="c.com"))
    assert lab.converge() == []
    lab.clear()
    lab.kube.inject("503", method="list", path="secrets", times=2)
    assert lab.converge() == []
    assert lab.writes() == []


@pytest.fixture
def soon(lab):
    """Let routers not wait long for Secrets when they start."""
    lab.timing = replace(lab.timing, secret_pace=replace(PACE, start_s=0.2))


HANGS = [pytest.param("503", {}, id="fails"), pytest.param("delay", {"seconds": 60}, id="hangs")]


@pytest.mark.parametrize(("fault", "options"), HANGS)
def test_one_secret_holds_up_nobody(lab, soon, fault, options):
    """The objects of its Route stay on the BIG-IP, and follow the pods; others are served, and change."""
    lab.apply(edge(), secret(ONE), edge("c", "other", host="c.com"), secret(THREE, "other"),
              manifests.route("d", host="d.com"))
    assert lab.converge() == []
    before = lab.bigip.get(PROFILE)
    lab.kube.inject(fault, method="list", path="namespaces/shop/secrets", times=None, **options)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.7",)), secret(TWO),
              manifests.route("d", host="new.d.com"),
              manifests.route("late", namespace="bank", host="b.com", created="2026-02-01T00:00:00Z"))
    lab.clear()
    router = lab.router()
    assert lab.converge(router) == ["Route shop/b: Secret tls is not read yet",
                                    "Route shop/c: Secret other is not read yet"]
    assert lab.bigip.get(PROFILE) == before
    assert served(lab) == ONE.certificate
    assert members(lab) == {"10.1.1.7:8080"}
    assert not [path for _, path in lab.writes() if "profile" in path or "/file/" in path]
    assert lab.admitted("shop", "d")["status"] == lab.admitted("shop", "b")["status"] == "True"
    assert lab.admitted("bank", "late")["reason"] == "HostAlreadyClaimed"
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.8",)))
    until(router, lambda: members(lab) == {"10.1.1.8:8080"})
    lab.kube.clear_faults()
    if fault != "delay":
        until(router, lambda: served(lab) == TWO.certificate)
        assert not [path for path in lab.paths("sys/file/ssl-cert") if before["cert"] == path]


def members(lab) -> set[str]:
    pool = lab.bigip.get("ltm/pool/~Common~openshift_shop_web")
    return {item["name"] for item in pool["membersReference"].get("items", [])}


def test_a_new_route_waits_for_its_secret(lab, soon):
    """A fresh router serves everybody else; nothing is said of the Route until it is known what it needs."""
    younger = {"created": "2026-02-01T00:00:00Z"}
    lab.apply(edge(insecure="Redirect"), edge("path", path="/p"), secret(ONE),
              edge("more", "more", path="/more", **younger), secret(TWO, "more"),
              manifests.route("d", host="d.com"))
    lab.kube.inject("503", method="list", path="secrets", times=None)
    router = lab.router()
    assert lab.converge(router) == ["2 Routes (shop/b, shop/path): Secret tls is not read yet",
                                    "Route shop/more: Secret more is not read yet"]
    assert lab.admitted("shop", "d")["status"] == "True"
    assert lab.admitted("shop", "b") == {}
    assert "shop_b" not in str(lab.bigip.get("ltm/policy/~Common~openshift_secure_routes"))
    assert "b.com" not in str(lab.paths("ltm/profile/client-ssl"))
    assert not router.reconciler.failures
    lab.kube.clear_faults()
    names = ("b", "path", "more")
    until(router, lambda: all(lab.admitted("shop", name).get("status") == "True" for name in names))
    assert served(lab) == ONE.certificate
    assert router.reconciler.device.observed == router.reconciler.engine.objects


def test_what_a_team_deletes_goes_while_another_route_waits(lab, soon):
    """Its requests come to the previous Rule of the Route that waits, and with the Secret to the new one."""
    def asked(path: str) -> tuple[str, str | None]:
        decision = decide(lab.bigip.store, f"/Common/{HTTP}", Request("b.com", path))
        return decision.kind, decision.pool

    web, api = (("pool", f"/Common/openshift_shop_{name}") for name in ("web", "api"))
    lab.apply(*manifests.service("shop", "api", pods=("10.1.2.1",)), manifests.route("b", host="b.com"),
              manifests.route("path", host="b.com", path="/p", service="api"), secret(ONE))
    router = lab.router()
    assert lab.converge(router) == []
    assert (asked("/"), asked("/p")) == (web, api)
    lab.kube.inject("503", method="list", path="secrets", times=None)
    lab.kube.delete("Route", "shop", "path")
    lab.apply(edge(insecure="Redirect"))
    lab.settle(router)
    assert (asked("/"), asked("/p")) == (web, web)
    lab.kube.clear_faults()
    until(router, lambda: asked("/")[0] == asked("/p")[0] == "redirect")


def test_another_certificate_of_the_host(lab, soon):
    """It is not put in the place of one that is not read yet; where there is none it serves its Route."""
    younger = manifests.route("young", host="b.com", path="/p", kind="edge", certificate=THREE.certificate,
                              key=THREE.key, created="2026-02-01T00:00:00Z")
    lab.apply(edge(), secret(ONE), younger, edge("c", "other", host="c.com", path="/"), secret(ONE, "other"))
    assert lab.converge() == []
    assert served(lab) == ONE.certificate
    lab.kube.inject("503", method="list", path="secrets", times=None)
    assert len(lab.converge()) == 2
    assert served(lab) == ONE.certificate
    lab.kube.delete("Route", "shop", "b")
    router = lab.router()
    until(router, lambda: served(lab) == THREE.certificate)
    lab.apply(edge())
    lab.settle(router)
    assert served(lab) == THREE.certificate
    assert lab.admitted("shop", "b") == {}, "it may have to be rejected"
    lab.kube.clear_faults()
    until(router, lambda: served(lab) == ONE.certificate)
    until(router, lambda: router.reconciler.device.observed == router.reconciler.engine.objects)


@pytest.mark.parametrize("before", ["plain", "another Secret", "another host", "passthrough"])
def test_a_changed_route_waits_for_its_new_secret(lab, before):
    """Its previous objects serve until the new ones can."""
    old = {"plain": manifests.route("b", host="b.com"), "another Secret": edge(secret="tls"),
           "another host": edge(host="old.com"),
           "passthrough": manifests.route("b", host="b.com", kind="passthrough")}[before]
    lab.apply(old, secret(ONE), secret(TWO, "new"))
    router = lab.router()
    lab.converge(router)
    kept = entrances(router)
    assert kept
    lab.kube.inject("503", method="list", path="secrets", times=None)
    lab.apply(edge(secret="new"))
    lab.clear()
    lab.settle(router)
    assert kept <= entrances(router)
    assert served(lab) == (ONE.certificate if before == "another Secret" else "")
    assert not [path for _, path in lab.writes() if "client-ssl" in path or "ssl-key" in path]
    lab.kube.clear_faults()
    until(router, lambda: served(lab) == TWO.certificate)
    until(router, lambda: router.reconciler.device.observed == router.reconciler.engine.objects)
    assert lab.admitted("shop", "b")["status"] == "True"


def entrances(router) -> set:
    """Through what requests of the Route come."""
    return {(obj.ref, *obj.hosts) if isinstance(obj, Rule) else (obj.ref, obj.data)
            for obj in router.reconciler.device.observed.values()
            if (isinstance(obj, Rule) and "route_shop_b" in obj.name)
            or (isinstance(obj, Record) and obj.name == "b.com")}


def test_a_failing_secret_is_told(lab):
    """An Event reports it after `patience_s`: the status stays what it was."""
    lab.timing = replace(lab.timing, secret_pace=replace(PACE, start_s=0.2, patience_s=0.0))
    lab.apply(edge(), secret(ONE))
    lab.kube.inject("500", method="list", path="secrets", times=None)
    router = lab.router()
    lab.converge(router)

    def told() -> list[str]:
        router.reporter.events.flush(waiting.DEADLINE_S)
        return [event["message"] for event in lab.kube.list("Event", "shop")]

    until(router, lambda: any("Secret tls cannot be read: GET " in text for text in told()))
    assert lab.admitted("shop", "b") == {}
    lab.kube.clear_faults()
    until(router, lambda: lab.admitted("shop", "b").get("status") == "True")


def changed(**data: str) -> dict:
    """The Secret with other texts."""
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    manifest, data = secret(ONE), {name.replace("_", "."): text for name, text in encoded.items()}
    return {**manifest, "data": manifest["data"] | data}


LEAF_AND_REST = ONE.certificate + identity().issuer * 900
"""Below the megabyte that an object may have."""


def test_whatever_becomes_of_a_secret(lab):
    """Each state is that of the Secret as it is; the claim stays, other Routes are left alone."""
    other = manifests.route("late", namespace="bank", host="b.com", created="2026-02-01T00:00:00Z")
    lab.apply(edge(), edge("path", host="b.com", path="/p"), manifests.route("plain"), other, secret(ONE))
    router = lab.router()
    assert lab.converge(router) == []
    for obj, words in (
        (secret(ONE, kind="Opaque"), "is of type 'Opaque'"), (secret(TWO), ""),
        (changed(tls_crt="garbage"), "tls.crt: it is not PEM"), (secret(ONE), ""),
        (changed(tls_crt="x" * 900_000), "tls.crt: it is not PEM"),
        (changed(tls_key=TWO.key), "tls.key: the key does not match"), (None, "not found"),
        (changed(tls_key=""), "tls.key: no key specified"), (changed(tls_crt=LEAF_AND_REST), ""),
        ("forbidden", ""), (secret(THREE), ""),
    ):
        if obj == "forbidden":
            lab.kube.forbid("secrets", ("get", "list", "watch"))
            lab.kube.inject("drop-watch", path="secrets")
            continue
        if obj is None:
            lab.kube.delete("Secret", "shop", "tls")
        else:
            lab.kube.allow("secrets")
            lab.apply(obj)
        for name in ("b", "path"):
            until(router, lambda: words in lab.admitted("shop", name).get("message", "")  # noqa: B023
                  and (lab.admitted("shop", name)["status"] == "False") == bool(words))  # noqa: B023
        assert lab.admitted("bank", "late")["reason"] == "HostAlreadyClaimed"
        assert lab.admitted("shop", "plain")["status"] == "True"
    until(router, lambda: served(lab) == THREE.certificate)
    until(router, lambda: router.reconciler.device.observed == router.reconciler.engine.objects)


def test_a_restart_of_the_api_server(lab):
    """Rotation is seen afterwards; nothing is taken away meanwhile."""
    lab.apply(edge(), secret(ONE))
    router = lab.router()
    lab.converge(router)
    lab.clear()
    lab.kube.inject("503", path="secrets", times=5)
    lab.kube.inject("drop", path="secrets", times=5)
    lab.kube.inject("401", path="secrets", times=3)
    lab.apply(secret(TWO))
    until(router, lambda: served(lab) == TWO.certificate)
    assert not [path for method, path in lab.writes() if method == "DELETE" and "policy" in path]


def test_too_many(lab):
    """The Routes beyond the limit learn of it; those of other namespaces are served."""
    young = {"created": "2026-02-01T00:00:00Z"}
    lab.apply(edge(), secret(ONE), edge("c", "other", host="c.com", **young), secret(TWO, "other"),
              manifests.route("plain"))
    router = lab.router(max_secrets_per_namespace="1")
    assert lab.converge(router) == []
    condition = lab.admitted("shop", "c")
    assert condition["reason"] == REASON
    assert "names more than 1 Secrets" in condition["message"]
    assert "--max-secrets-per-namespace" in condition["message"]
    assert served(lab) == ONE.certificate
    assert lab.admitted("shop", "plain")["status"] == "True"
    lab.kube.delete("Route", "shop", "b")
    until(router, lambda: lab.admitted("shop", "c").get("status") == "True")


def test_no_key_is_told(lab, caplog, capsys):
    """In no log, Event, status, plan or message of the device that refuses it."""
    caplog.set_level("DEBUG")
    wrong = {**secret(TWO, "bad"), "data": secret(TWO)["data"] | {"tls.crt": secret(ONE)["data"]["tls.crt"]}}
    lab.apply(edge(), secret(ONE), edge("c", "bad", host="c.com"), wrong)
    assert preflight.plan(lab.config(), output="json") == preflight.plan(lab.config(), output="table") == 0
    lab.bigip.inject("refuse", times=None, method="POST", path="ssl-key", status=400, message="no such key")
    router = lab.router()
    assert lab.converge(router)
    assert router.reporter.events.flush(waiting.DEADLINE_S)
    told = [caplog.text, *(str(vars(record)) for record in caplog.records), *capsys.readouterr(),
            str(lab.kube.list("Event", "shop")), str(lab.kube.list("Route", "shop")), str(lab.bigip.writes())]
    lines = [line for pair in (ONE, TWO) for line in pair.key.splitlines()[1:-1]]
    lines += [secret(pair)["data"]["tls.key"][at:at + 40] for pair in (ONE, TWO) for at in (0, 80, 160)]
    assert len(lines) > 6
    leaks = [(line, text.index(line)) for text in told for line in lines if line in text]
    assert not leaks


def test_switched_off(lab):
    """The field counts as not written; the team hears of it."""
    lab.apply(edge(), secret(ONE))
    router = lab.router(allow_external_certificates="false")
    assert lab.converge(router) == []
    assert lab.admitted("shop", "b")["status"] == "True"
    assert served(lab) == ""
    assert router.reporter.events.flush(waiting.DEADLINE_S)
    texts = [event["message"] for event in lab.kube.list("Event", "shop")]
    assert any(text.startswith("spec.tls.externalCertificate: this router reads") for text in texts)

"""Certificates in Secrets that Routes name: from the right to read them to the client SSL profile."""

import base64
import time

import pytest

from tests import manifests
from tests.builders import identity

ONE, TWO, THREE = (identity(serial=serial, algorithm="ec") for serial in (1, 2, 3))
PROFILE = "ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile"
REASON = "ExternalCertificateValidationFailed"


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
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it never held"
        router.reconcile_once()
        router._statuses.flush(5.0)
        time.sleep(0.01)


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
    found = lab.paths("sys/file/ssl-cert") | lab.paths("sys/file/ssl-key")
    files = {path for path in found if "-https-" in path}
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


@pytest.mark.parametrize(("given", "reason", "words"), [
    pytest.param(secret(ONE, kind="Opaque"), REASON, "is of type 'Opaque'", id="type"),
    pytest.param(secret(identity(), "nothing"), REASON, "not found", id="other name"),
    pytest.param({**secret(ONE), "data": {"tls.crt": "!", "tls.key": ""}}, "ExtendedValidationFailed",
                 "tls.crt: no certificate", id="no base64"),
    pytest.param({**secret(ONE), "data": secret(ONE)["data"] | {"tls.key": secret(TWO)["data"]["tls.key"]}},
                 "ExtendedValidationFailed", "tls.key: the key does not match", id="key of another"),
])
def test_bad_secrets(lab, caplog, given, reason, words):
    """They cost their Route, and no key is told."""
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


def test_a_changed_route_waits_for_its_new_secret(lab):
    """Its old certificate serves until the new one was read."""
    lab.apply(edge(), secret(ONE), secret(TWO, "new"))
    router = lab.router()
    lab.converge(router)
    lab.kube.inject("503", method="list", path="secrets", times=1000)
    lab.apply(edge(secret="new"))
    lab.clear()
    lab.settle(router)
    assert served(lab) == ONE.certificate
    assert not [path for _, path in lab.writes() if "client-ssl" in path or "ssl-key" in path]
    lab.kube.clear_faults()
    until(router, lambda: served(lab) == TWO.certificate)
    assert lab.admitted("shop", "b")["status"] == "True"


def test_switched_off(lab):
    """The field counts as not written; the team hears of it."""
    lab.apply(edge(), secret(ONE))
    router = lab.router(allow_external_certificates="false")
    assert lab.converge(router) == []
    assert lab.admitted("shop", "b")["status"] == "True"
    assert served(lab) == ""
    assert router._warnings.flush(10)
    texts = [event["message"] for event in lab.kube.list("Event", "shop")]
    assert any(text.startswith("spec.tls.externalCertificate: this router reads") for text in texts)

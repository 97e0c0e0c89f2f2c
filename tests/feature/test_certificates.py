"""Certificates on their way to the device: uploads, renewals, hand-over, and what is left behind."""

import pytest

from tests import manifests
from tests.builders import identity

ONE, TWO = identity(algorithm="rsa"), identity(serial=2)


def edge(name: str, who, *, host: str = "b.com", **fields) -> dict:
    return manifests.route(name, host=host, kind="edge", certificate=who.certificate, key=who.key, **fields)


@pytest.fixture(params=["rest", "ssh"])
def flags(request, make_lab):
    """A lab, and the flags for one way of uploading."""
    lab = make_lab(ssh=True)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    return lab, {"cert_upload": "rest"} if request.param == "rest" else lab.ssh_flags()


def disk(lab) -> list[str]:
    """Files on the device's disk."""
    return list(lab.bigip.store.disk)


def installed(lab, kind: str = "sys/file/ssl-cert") -> set[str]:
    return {path for path in lab.paths(kind) if "openshift" in path}


def test_what_was_uploaded_is_installed_and_removed_from_the_disk(flags):
    lab, options = flags
    lab.apply(edge("b", ONE, caCertificate=ONE.issuer))
    assert lab.converge(**options) == []
    assert disk(lab) == []
    profile = lab.bigip.get("ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile")
    shown = {name: lab.content(profile[name]) for name in ("cert", "key", "chain")}
    assert shown == {"cert": ONE.certificate, "chain": ONE.issuer, "key": shown["key"]}
    assert "PRIVATE KEY" in shown["key"]


@pytest.mark.parametrize("step", ["ssl-cert|crypto/cert", "ssl-key|crypto/key"])
def test_a_failed_installation_leaves_no_file(flags, step):
    lab, options = flags
    lab.bigip.inject("refuse", times=2, method="POST", path=step, status=400, message="01070712:3: no")
    lab.apply(edge("b", ONE))
    assert lab.converge(**options) != []
    assert disk(lab) == []


def test_a_renewal_leaves_nothing_of_the_old_certificate(flags):
    lab, options = flags
    lab.apply(edge("b", ONE))
    lab.converge(**options)
    old = installed(lab) | installed(lab, "sys/file/ssl-key")
    lab.apply(edge("b", TWO))
    lab.clear()
    assert lab.converge(**options) == []
    new = installed(lab) | installed(lab, "sys/file/ssl-key")
    assert not old & new
    assert len(new) == 2
    profile_writes = [path for method, path in lab.writes() if "client-ssl" in path and method == "PATCH"]
    assert len(profile_writes) == 1


def test_an_unknown_host_key_is_refused_with_its_fingerprint(make_lab):
    """Only Routes that need an upload suffer."""
    lab = make_lab(ssh=True)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), edge("b", ONE), manifests.route("a"))
    options = lab.ssh_flags()
    del options["f5_ssh_host_key"]
    lab.converge(**options)
    assert lab.admitted("shop", "a")["status"] == "True"
    condition = lab.admitted("shop", "b")
    assert condition["reason"] == "DeviceRejected"
    assert lab.bigip.ssh_server.host_key_fingerprint in condition["message"]
    assert lab.converge(f5_ssh_insecure="true", **options) == []


def test_no_secret_is_logged(flags, caplog):
    lab, options = flags
    caplog.set_level("DEBUG")
    lab.bigip.inject(
        "refuse", times=1, method="POST", path="ssl-key|crypto/key", status=400, message=f"no: {ONE.key}"
    )
    lab.apply(edge("b", ONE))
    lab.converge(**options)
    lab.converge(**options)
    text = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    for line in ONE.key.splitlines()[1:-1]:
        assert line not in text
    assert lab.bigip.password not in text.replace("/password", "")
    assert "PRIVATE KEY" not in str(lab.admitted("shop", "b"))


def test_the_certificate_of_a_host_is_handed_over(flags):
    lab, options = flags
    lab.apply(
        edge("old", ONE, path="/a", created="2026-01-01T00:00:00Z"),
        edge("new", TWO, path="/b", created="2026-02-01T00:00:00Z"),
    )
    lab.converge(**options)
    name = "ltm/profile/client-ssl/~Common~openshift_host_b.com-client-ssl-profile"
    assert "shop_old" in lab.bigip.get(name)["cert"]
    lab.kube.delete("Route", "shop", "old")
    lab.clear()
    assert lab.converge(**options) == []
    assert "shop_new" in lab.bigip.get(name)["cert"]
    assert len([1 for method, path in lab.writes() if method == "PATCH" and "client-ssl" in path]) == 1
    assert all("shop_new" in path for path in installed(lab))


def test_an_expired_certificate_is_served(flags):
    lab, options = flags
    lab.apply(edge("b", identity(expired=True)))
    assert lab.converge(**options) == []
    assert lab.admitted("shop", "b")["status"] == "True"

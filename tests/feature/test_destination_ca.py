"""The default destination CA: OpenShift's service CA, another one, or none at all."""

import pytest

from f5router.config.files import SERVICE_CA
from tests import manifests
from tests.builders import identity
from tests.waiting import until

CA, NEXT = identity(ca="Service CA").issuer, identity(ca="Next CA").issuer
FIELD = "spec.tls.destinationCACertificate: there is none"


def profile(lab) -> dict:
    """The server SSL profile towards the pods of the one re-encrypt Route."""
    (path,) = (path for path in lab.paths("ltm/profile/server-ssl") if "openshift_tls_" in path)
    return lab.bigip.get(f"ltm/profile/server-ssl/{path.replace('/', '~')}")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "service-ca.crt"
    path.write_text(CA)
    return path


def with_service_ca(lab, text: str | None) -> None:
    """Let routers see OpenShift's file in their pod; None for a pod without it."""
    read = lab.read_file

    def read_file(path: str) -> str:
        if path != SERVICE_CA:
            return read(path)
        if text is None:
            raise FileNotFoundError
        return text

    lab.read_file = read_file


def test_nothing_would_verify_the_pods(lab):
    """The Route is refused with the reason, and has nothing on the BIG-IP; others are served."""
    with_service_ca(lab, None)
    lab.apply(manifests.route("a", kind="reencrypt"), manifests.route("b", host="b.example.com"))
    (reason,) = lab.converge(default_destination_ca_path="")
    assert FIELD in reason
    condition = lab.admitted("shop", "a")
    assert (condition["status"], condition["reason"]) == ("False", "DeviceRejected")
    assert FIELD in condition["message"]
    assert lab.admitted("shop", "b")["status"] == "True"
    assert not [path for path in lab.paths("ltm/profile/server-ssl") if "openshift" in path]
    assert lab.pools() == {"/Common/openshift_shop_web"}


def test_service_ca_of_the_pod(lab):
    with_service_ca(lab, CA)
    lab.apply(manifests.route("a", kind="reencrypt"))
    assert lab.converge(default_destination_ca_path="") == []
    shown = profile(lab)
    assert (shown["peerCertMode"], shown["authenticateName"]) == ("require", "web.shop.svc")
    assert lab.content(shown["caFile"]) == CA
    lab.clear()
    assert lab.converge(default_destination_ca_path="") == []
    assert lab.writes() == []


def test_from_unverified_to_verified(lab, file):
    """After the upgrade: the new pool is there before a Rule leads to it, the old one goes afterwards."""
    lab.apply(manifests.route("a", kind="reencrypt"))
    assert lab.converge() == []
    (before,) = lab.pools()
    assert lab.converge(default_destination_ca_path=str(file)) == []
    (after,) = lab.pools()
    assert before != after
    assert profile(lab)["authenticateName"] == "web.shop.svc"


def test_renewed_while_the_router_runs(lab, file, running):
    """A file of its own, one write of the profile, and the old file goes; the pool keeps its name."""
    lab.apply(manifests.route("a", kind="reencrypt"))
    loop = running(default_destination_ca_path=str(file))
    loop.wait(lambda: lab.admitted("shop", "a").get("status") == "True")
    (before,), old = lab.pools(), profile(lab)["caFile"]
    lab.clear()
    file.write_text(NEXT + CA)
    loop.later()
    loop.wait(lambda: lab.content(profile(lab)["caFile"]) == NEXT + CA)
    loop.wait(lambda: old not in lab.paths("sys/file/ssl-cert"))
    assert lab.pools() == {before}
    assert [path for method, path in lab.writes() if "/ltm/" in path] == [
        f"/mgmt/tm/ltm/profile/server-ssl/{profile(lab)['fullPath'].replace('/', '~')}"]
    # What cannot be read changes nothing.
    lab.clear()
    file.write_text("half a fi")
    loop.later()
    until(lambda: loop.router.destination_ca_file.due_at > lab.clock())
    assert lab.writes() == []


@pytest.mark.parametrize(("method", "path"), [("POST", "file/ssl-cert"), ("PATCH", "profile/server-ssl")],
                         ids=["the file", "the profile"])
def test_renewed_and_refused(lab, file, running, method, path):
    """The certificates before stay on the BIG-IP; the Route's status has the refusal until that is over."""
    lab.apply(manifests.route("a", kind="reencrypt"))
    loop = running(default_destination_ca_path=str(file))
    loop.wait(lambda: lab.admitted("shop", "a").get("status") == "True")
    (pool,), old = lab.pools(), profile(lab)["caFile"]
    lab.bigip.inject("refuse", times=None, method=method, path=path, status=400, message="no room")
    file.write_text(NEXT + CA)
    loop.later()
    loop.wait(lambda: "no room" in lab.admitted("shop", "a").get("message", ""))
    assert (lab.content(profile(lab)["caFile"]), profile(lab)["caFile"]) == (CA, old)
    assert lab.pools() == {pool}
    assert profile(lab)["peerCertMode"] == "require"
    lab.bigip.clear_faults()
    loop.later()
    loop.wait(lambda: lab.content(profile(lab)["caFile"]) == NEXT + CA)
    loop.wait(lambda: lab.admitted("shop", "a").get("status") == "True")


def test_broken_off_renewal(lab, file):
    """After a kill at any write the next router finishes, and the pods are verified all the time."""
    lab.apply(manifests.route("a", kind="reencrypt"))
    assert lab.converge(default_destination_ca_path=str(file)) == []
    for number, text in enumerate((NEXT + CA, NEXT, CA + NEXT, CA), start=1):
        file.write_text(text)
        lab.break_off(number, default_destination_ca_path=str(file))
        assert profile(lab)["peerCertMode"] == "require"
        assert lab.content(profile(lab)["caFile"])
        assert lab.converge(default_destination_ca_path=str(file)) == []
        assert lab.content(profile(lab)["caFile"]) == text
        assert len([path for path in lab.paths("sys/file/ssl-cert") if "openshift_tls" in path]) == 1

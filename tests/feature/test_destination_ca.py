"""The default destination CA: OpenShift's service CA, another one, or none at all."""

import pytest

from f5router.config.files import SERVICE_CA
from tests import manifests
from tests.builders import identity
from tests.waiting import until

CA, NEXT = identity(ca="Service CA").issuer, identity(ca="Next CA").issuer
FIELD = "spec.tls.destinationCACertificate: not set"


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
    assert (condition["status"], condition["reason"]) == ("False", "RouteNotAdmitted")
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
    until(lambda: loop.router.timers.when("files") > lab.clock())
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


def divided(*services: str, **annotations: str) -> dict:
    obj = manifests.route("a", kind="reencrypt", service=services[0])
    obj["spec"]["to"]["weight"] = 1
    obj["spec"]["alternateBackends"] = [
        {"kind": "Service", "name": name, "weight": 1} for name in services[1:]]
    obj["metadata"]["annotations"] = {f"haproxy.router.openshift.io/{key}": value
                                      for key, value in annotations.items()}
    return obj


def verified(lab, pool: str = "") -> dict[str, str]:
    """The name by which the BIG-IP verifies each pod, by its address. Args: pool: "" for the only one."""
    group = lab.bigip.get("ltm/data-group/internal/~Common~ssl_reencrypt_serverssl_dg")
    records = {record["name"]: record["data"] for record in group["records"]}
    (pool,) = {pool} if pool else lab.pools()
    assert records[pool] == "services"
    by_address = {}
    for item in lab.bigip.items("ltm/pool/members"):
        if item.key[0] == pool:
            path = records[f"{pool}/{item.fields['priorityGroup']}"]
            shown = lab.bigip.get(f"ltm/profile/server-ssl/{path.replace('/', '~')}")
            assert (shown["peerCertMode"], bool(shown["caFile"])) == ("require", True)
            by_address[item.fields["address"]] = shown["authenticateName"]
    return by_address


@pytest.mark.parametrize("restarted", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize("services", [("web", "canary"), ("web", "api")], ids=["the same", "others"])
def test_several_services_while_the_next_version_is_refused(lab, file, services, restarted):
    """The old pool follows its pods, and each is verified by the name of its Service."""
    flags = {"default_destination_ca_path": str(file)}
    for number, name in enumerate(("web", "canary", "api")):
        lab.apply(*manifests.service("shop", name, pods=(f"10.1.{number}.1",)))
    lab.apply(divided("web", "canary"))
    router = lab.router(**flags)
    lab.settle(router)
    names_of = {"10.1.0.1": "web.shop.svc", "10.1.1.1": "canary.shop.svc"}
    (old,) = lab.pools()
    lab.bigip.inject("refuse", times=None, method="POST", path="data-group/internal", status=400,
                     message="no")
    lab.apply(divided(*services, ip_allowlist="10.0.0.2"))
    lab.settle(router)
    if restarted:
        router.close()
        router = lab.router(**flags)
        lab.converge_events(router)
        lab.settle(router)
    assert verified(lab, old) == names_of
    lab.apply(*manifests.service("shop", "web", pods=("10.1.0.2", "10.1.0.3")))
    lab.settle(router)
    # After a restart nothing shows any more which Services others in the Route were before.
    followed = [] if restarted and "api" in services else ["10.1.0.2", "10.1.0.3"]
    assert verified(lab, old) == {"10.1.1.1": "canary.shop.svc"} | dict.fromkeys(followed, "web.shop.svc")
    lab.bigip.clear_faults()
    lab.later()
    lab.settle(router)
    lab.later()
    lab.settle(router)
    (pool,) = lab.pools()
    assert pool.endswith("__limited")
    assert set(verified(lab).values()) == {f"{name}.shop.svc" for name in services}
    router.close()


def test_several_services_broken_off(lab, file):
    """After a kill at any write the next router finishes; no pod is ever verified by another name."""
    flags = {"default_destination_ca_path": str(file)}
    for number, name in enumerate(("web", "canary", "api")):
        lab.apply(*manifests.service("shop", name, pods=(f"10.1.{number}.1",)))
    names_of = {"10.1.0.1": "web.shop.svc", "10.1.1.1": "canary.shop.svc", "10.1.2.1": "api.shop.svc"}
    for at, services in enumerate((("web", "canary"), ("api", "canary"), ("web", "api", "canary"),
                                   ("web", "api"), ("canary", "web")), start=1):
        lab.apply(divided(*services))
        lab.break_off(at, **flags)
        assert lab.converge(**flags) == []
        assert verified(lab) == {address: name for address, name in names_of.items()
                                 if name.split(".")[0] in services}
        assert len(lab.pools()) == 1
    lab.clear()
    assert lab.converge(**flags) == []
    assert lab.writes() == []

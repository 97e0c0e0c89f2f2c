"""Virtual servers that the router creates: from an empty BIG-IP, after each crash, beside those of others."""

import pytest

from f5router.model.tmos import SET_VARIABLE_SINCE
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

ADDRESS = "203.0.113.10"
FLAGS = {"f5_vserver_address": ADDRESS}
DEFAULT = ("/Common/openshift_default-client-ssl-profile", "clientside")


def virtual(lab: Lab, name: str) -> dict:
    """Return a virtual server as a GET shows it; {} if there is none."""
    return lab.bigip.get(f"ltm/virtual/~Common~{name}") or {}


def profiles(raw: dict) -> set[tuple[str, str]]:
    return {(item["fullPath"], item["context"]) for item in raw["profilesReference"]["items"]}


@pytest.fixture
def empty(make_lab) -> Lab:
    """A BIG-IP without virtual servers, and a Service with two pods."""
    lab = make_lab()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")))
    return lab


def test_from_an_empty_bigip(empty):
    empty.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    assert empty.converge(**FLAGS) == []
    for name, port in ((HTTP, 80), (HTTPS, 443)):
        raw = virtual(empty, name)
        assert (raw["destination"], raw["enabled"]) == (f"/Common/{ADDRESS}:{port}", True)
        assert raw["sourceAddressTranslation"] == {"type": "automap"}
        assert raw["description"] == f"managed by f5router public: port {port} of {ADDRESS}; in service"
        assert {("/Common/openshift_client-tcp-profile", "clientside"),
                ("/Common/openshift_server-tcp-profile", "serverside"),
                ("/Common/openshift_http-profile", "all")} <= profiles(raw)
    assert DEFAULT in profiles(virtual(empty, HTTPS))
    assert [empty.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]


def serve(lab: Lab, **flags: str) -> list[str]:
    lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    return lab.converge(**FLAGS | flags)


def is_complete(lab: Lab, name: str) -> bool:
    """True if a virtual server has all that it has when the router is ready."""
    raw = virtual(lab, name)
    policies = {item["fullPath"] for item in raw.get("policiesReference", {}).get("items", ())}
    secure, front_end = "https" in name, "".join(name.partition("__")[1:])
    wanted = {"openshift_request_irule", "openshift_headers_irule", "openshift_unavailable_irule",
              *(["openshift_session_cookie_irule"] if lab.bigip.store.version >= SET_VARIABLE_SINCE else []),
              *(["openshift_passthrough_irule"] if secure else [])}
    return (policies == {f"/Common/openshift_{'secure' if secure else 'insecure'}_routes{front_end}"}
            and {f"/Common/{irule}{front_end}" for irule in wanted} <= set(raw.get("rules", ()))
            and (not secure or (DEFAULT[0] + front_end, DEFAULT[1]) in profiles(raw)))


def listening(lab: Lab) -> set[str]:
    """Names of the virtual servers that answer clients."""
    return {item.path.rpartition("/")[2] for item in lab.bigip.items("ltm/virtual")
            if item.fields.get("enabled")}


TWO = f"{ADDRESS},2001:db8::1"
ON_TWO = {HTTP, HTTPS, f"{HTTP}_2", f"{HTTPS}_2"}


def test_a_restart_writes_nothing(empty):
    assert serve(empty) == []
    empty.clear()
    assert empty.converge(**FLAGS) == []
    assert empty.writes() == []


def test_several_addresses(empty):
    assert serve(empty, f5_vserver_address=TWO) == []
    assert listening(empty) == ON_TWO
    assert all(is_complete(empty, name) for name in ON_TWO)
    empty.clear()
    assert empty.converge(f5_vserver_address=TWO) == []
    assert empty.writes() == []


def test_other_ports(empty):
    assert serve(empty, service_http_port="8080", service_https_port="8443") == []
    destinations = {item.fields["destination"] for item in empty.bigip.items("ltm/virtual")}
    assert destinations == {f"/Common/{ADDRESS}:8080", f"/Common/{ADDRESS}:8443"}


def test_each_end_of_the_creation(empty):
    """No virtual server answers before it is complete, and the next start completes what is there."""
    empty.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"))
    flags = {"f5_vserver_address": TWO}
    for _ in empty.each_end(20, **flags):
        assert all(is_complete(empty, name) for name in listening(empty))
        assert empty.converge(**flags) == []
        assert listening(empty) == ON_TWO
        assert all(is_complete(empty, name) for name in ON_TWO)


FOREIGN = {"name": HTTPS, "partition": "Common", "destination": f"/Common/{ADDRESS}:443",
           "ipProtocol": "tcp", "profiles": ["/Common/tcp"], "description": "of another team"}


@pytest.mark.parametrize(("foreign", "text"), [
    ({**FOREIGN}, "exists, and this router did not create it"),
    ({**FOREIGN, "name": "another"}, "illegally shares destination address"),
    ({**FOREIGN, "name": "another", "metadata": [{"name": "f5router", "value": "mine"}]},
     "illegally shares destination address"),
], ids=["the name", "the address and port", "a mark that the router does not make"])
def test_virtual_servers_of_others_are_not_touched(empty, foreign, text):
    empty.bigip.put_object("ltm/virtual", foreign)
    before = virtual(empty, foreign["name"])
    reasons = serve(empty)
    assert any(text in reason for reason in reasons)
    assert virtual(empty, foreign["name"]) == before
    assert (empty.admitted("shop", "a")["status"], empty.admitted("shop", "b")["status"]) == ("True", "False")
    assert text in empty.admitted("shop", "b")["message"]
    assert listening(empty) == {HTTP, foreign["name"]}


def test_one_address_that_is_refused_does_not_stop_the_other(empty):
    empty.bigip.put_object("ltm/virtual", {**FOREIGN, "name": "another", "destination": "2001:db8::1.443"})
    reasons = serve(empty, f5_vserver_address=TWO)
    assert any("illegally shares destination address" in reason for reason in reasons)
    assert listening(empty) == {*ON_TWO, "another"} - {f"{HTTPS}_2"}
    assert [empty.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]


@pytest.mark.parametrize("change", [
    ("DELETE", None),
    ("PATCH", {"destination": f"/Common/{ADDRESS}:8443"}),
    ("PATCH", {"sourceAddressTranslation": {"type": "none"}}),
    ("PATCH", {"source": "10.0.0.0/8"}),
    ("PATCH", {"policies": [], "rules": []}),
    ("PATCH", {"profiles": ["/Common/tcp", "/Common/http",
                            {"name": "/Common/clientssl", "context": "clientside"}]}),
    ("PATCH", {"description": "important"}),
], ids=["deleted", "destination", "translation", "source", "detached", "profiles", "description"])
def test_drift_is_repaired(empty, change):
    assert serve(empty) == []
    right = virtual(empty, HTTPS)
    method, body = change
    empty.change(method, f"ltm/virtual/~Common~{HTTPS}", body)
    assert empty.converge(**FLAGS) == []
    assert listening(empty) == {HTTP, HTTPS}
    assert is_complete(empty, HTTPS)
    for name in ("destination", "sourceAddressTranslation", "source", "metadata"):
        assert virtual(empty, HTTPS)[name] == right[name]
    assert profiles(virtual(empty, HTTPS)) - profiles(right) <= {("/Common/clientssl", "clientside")}
    assert profiles(right) <= profiles(virtual(empty, HTTPS))


@pytest.mark.parametrize(("flags", "state"), [({}, "disabled"), ({"repair_disabled": "true"}, "enabled")])
def test_disabled_on_purpose(empty, flags, state):
    assert serve(empty) == []
    empty.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"disabled": True})
    empty.clear()
    assert empty.converge(**FLAGS, **flags) == []
    assert virtual(empty, HTTPS).get(state) is True
    assert len(empty.writes()) == (1 if flags else 0)


def test_another_address(empty):
    assert serve(empty) == []
    assert empty.converge(f5_vserver_address="203.0.113.77") == []
    assert {item.fields["destination"] for item in empty.bigip.items("ltm/virtual")} == {
        "/Common/203.0.113.77:80", "/Common/203.0.113.77:443"}
    assert listening(empty) == {HTTP, HTTPS}


def test_an_address_less(empty):
    assert serve(empty, f5_vserver_address=TWO) == []
    assert empty.converge(**FLAGS) == []
    assert listening(empty) == {HTTP, HTTPS}
    assert empty.paths("ltm/virtual") == {f"/Common/{HTTP}", f"/Common/{HTTPS}"}


def test_without_the_setting_they_stay(empty):
    assert serve(empty) == []
    empty.clear()
    assert empty.converge() == []
    assert empty.writes() == []
    assert listening(empty) == {HTTP, HTTPS}

"""`f5router doctor` and the Gateway API: CRDs, a GatewayClass, an address, and rights."""

from contextlib import ExitStack

import pytest

from tests.feature.conftest import Lab
from tests.feature.test_doctor import checks, doctor
from tests.gateways import gateway_class
from tests.rows import rows

ASKED = {"sources": "routes,gateway", "f5_vserver_address": "203.0.113.10"}
OWN, OTHER = gateway_class(), gateway_class("nginx", "example.com/other")


@pytest.fixture
def lab_of(tmp_path):
    with ExitStack() as stack:
        def make(release: str, *objects: dict) -> Lab:
            lab = Lab(stack, tmp_path, gateway_api=release)
            lab.virtuals()
            lab.apply(*objects)
            return lab
        yield make


def told(lab, **flags: str) -> list[str]:
    """The texts about the Gateway API."""
    result = doctor(lab, "-o", "json", **flags)
    return [text for _, check, text in checks(result, "warning", "failure") if check == "Gateway API"]


@rows(("release", "objects", "flags", "words"), [
    ("none", (), {}, ()),
    ("none", (), ASKED, ("the cluster lacks the CRDs", "standard-install.yaml")),
    ("v1.6", (OTHER,), {}, ()),
    ("v1.6", (OWN, OTHER), ASKED, ()),
    ("v1.6", (OTHER,), ASKED, ("no GatewayClass has spec.controllerName f5router.io/gateway",
                               '"controllerName": "f5router.io/gateway"')),
    ("v1.6", (OWN,), {}, ("GatewayClass f5 names this router's controller",
                          "neither --gateway-addresses nor --f5-vserver-address is set", "set one of them")),
    ("v1.6", (OWN,), {"f5_vserver_address": "203.0.113.10"},
     ("--sources does not name gateway", "name gateway in --sources")),
    ("v1.6", (OWN,), {"gateway_controller": "example.com/own"}, ()),
    ("v0.8", (OWN | {"apiVersion": "gateway.networking.k8s.io/v1beta1"},), {}, ("GatewayClass f5 names",)),
    ("v1.6", (OWN,), {"sources": "routes,gateway"}, ("neither --gateway-addresses nor",)),
    ("v1.6", (OWN,), {"sources": "routes,gateway", "gateway_addresses": "203.0.113.32/28"}, ())])
def test_what_is_missing(lab_of, release, objects, flags, words):
    texts = told(lab_of(release, *objects), **flags)
    assert len(texts) == bool(words)
    assert [word for word in words if word not in texts[0]] == []


def test_rights(lab_of):
    """Missing ones are warnings with the file that grants them; without them there is no hint."""
    lab = lab_of("v1.6", OWN)
    lab.kube.forbid("gatewayclasses")
    lab.kube.forbid("httproutes/status", ["patch"])
    assert told(lab) == []
    result = doctor(lab, "-o", "json", **ASKED)
    rights = [text for _, check, text in checks(result, "warning") if check == "rights"]
    assert len([text for text in rights if "22-gateway-api.yaml" in text]) == len(rights) == 3
    assert [check for check in checks(result, "failure") if check[1] == "rights"] == []


def test_what_the_hint_costs(lab_of):
    """Two calls without the CRDs, one list with them; nothing of the router that runs."""
    lab = lab_of("none")
    doctor(lab, "-o", "json")
    asked = [entry.path for entry in lab.kube.log if "gateway.networking" in entry.path]
    assert asked == [f"/apis/gateway.networking.k8s.io/{version}" for version in ("v1", "v1beta1")]
    lab.kube.clear_log()
    assert lab.converge() == []
    assert [entry.path for entry in lab.kube.log if "gateway.networking" in entry.path] == []

"""Objects on the BIG-IP carry a description by which its administrators see whose they are."""

import re

import pytest

from f5router.model.ownership import DESCRIBED_KINDS
from tests import manifests
from tests.feature.test_device import serve

pytestmark = pytest.mark.bare

OWNER = "managed by f5router public (router.example.com)"
FLAGS = {"router_canonical_hostname": "router.example.com", "backend_check_interval": "7s"}


def described(lab) -> dict[str, str]:
    """Descriptions of our objects by kind and name."""
    return {f"{kind} {item.path}": item.fields.get("description", "") for kind in DESCRIBED_KINDS
            for item in lab.bigip.items(kind) if re.match(r"/Common/(openshift|ssl)_", item.path)}


def test_every_object_says_whose_it_is(lab):
    """Its router, and what of the cluster it is for; without one request more."""
    assert serve(lab, **FLAGS) == []
    texts = described(lab)
    assert texts["ltm/pool /Common/openshift_shop_web"] == f"{OWNER}: Service shop/web"
    host = "ltm/profile/client-ssl /Common/openshift_host_edge.example.com-client-ssl-profile"
    assert texts[host] == f"{OWNER}: host edge.example.com"
    assert {key: text for key, text in texts.items() if not text.startswith(OWNER)} == {}
    assert {key.split()[0] for key in texts} >= {
        "ltm/pool", "ltm/policy", "ltm/data-group/internal", "ltm/profile/client-ssl",
        "ltm/profile/server-ssl"}


def test_a_missing_description_is_no_difference(lab):
    """Objects of an earlier release are not written for it; their next update brings it."""
    serve(lab)
    for kind in DESCRIBED_KINDS:
        for item in lab.bigip.items(kind):
            if item.path.startswith("/Common/openshift_"):
                item.fields.pop("description", None)
    lab.clear()
    router = lab.router()
    assert lab.converge(router) == []
    assert lab.writes() == []
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.3")))
    lab.settle(router)
    pool = lab.bigip.get("ltm/pool/~Common~openshift_shop_web")
    assert pool["description"] == "managed by f5router public: Service shop/web"


def test_pools_alone_have_one_on_old_devices(make_lab):
    """Nothing shows that other kinds have the property below 12.1; a write with an unknown one is refused."""
    lab = make_lab(tmos_version="11.6.0")
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("plain"))
    assert lab.converge() == []
    texts = described(lab)
    assert {key.split()[0] for key, text in texts.items() if text} == {"ltm/pool"}

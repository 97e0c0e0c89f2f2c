"""f5router uninstall: everything of the router goes, nothing of others, also after a kill at any write."""

import contextlib
import itertools
import threading

import pytest

from f5router.cli import uninstall
from mocks.bigip.store import DiskFile
from tests import manifests
from tests.feature.conftest import HTTPS, Lab
from tests.feature.sdn import FLAGS as SDN
from tests.feature.sdn import FOREIGN, fdb, foreign, sdn
from tests.feature.test_adopt import state as shown
from tests.feature.test_device import serve
from tests.feature.test_saving import saves
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.bare

OWN_MONITOR = {"backend_check_interval": "7s"}


LEASE = {"leader_elect": "true", "leader_elect_lease_duration": "60s", "leader_elect_renew_deadline": "50s",
         "leader_elect_retry_period": "200ms", "leader_elect_resource_namespace": "default"}
"""A router renews it often, and keeps it on a machine that is slow."""


def run(lab: Lab, *, dry_run: bool = False, answer: bool = True, stop: threading.Event | None = None,
        retry_s: float | None = None, **flags) -> int:
    return uninstall.uninstall(
        lab.config(retry_s=retry_s, **flags), dry_run=dry_run, confirm=lambda question: answer,
        stopping=lambda: contextlib.nullcontext(stop or threading.Event()), timing=lab.timing)


def everything(lab: Lab) -> set[str]:
    """All that an administrator sees on the BIG-IP, and the files on its disk."""
    kinds = ("net/tunnels/tunnel", "net/tunnels/vxlan", "net/self", "net/route", "ltm/monitor/tcp",
             "ltm/node")
    more = {f"{kind} {item.path} {sorted(item.fields.items(), key=str)}"
            for kind in kinds for item in lab.bigip.items(kind)}
    return shown(lab) | more | {f"{path} {file.data!r}" for path, file in lab.bigip.store.disk.items()}


def reasons(caplog) -> str:
    """Return what the log gives as reasons."""
    return " ".join(getattr(record, "reason", "") for record in caplog.records)


def without_nodes(lines: set[str]) -> set[str]:
    """Leave out LTM nodes: nobody knows whose they were when the run that deleted their pool has ended."""
    return {line for line in lines if not line.startswith("ltm/node ")}


def foreigners(lab: Lab) -> None:
    """Objects of an administrator beside the router's, some with names like its own."""
    put = lab.bigip.put_object
    put("ltm/rule", {"name": "log_requests", "partition": "Common",
                     "apiAnonymous": "when CLIENT_ACCEPTED { log local0. hello }"})
    put("ltm/pool", {"name": "openshift-admin", "partition": "Common", "members": [{"name": "10.7.7.7:80"}]})
    put("ltm/pool", {"name": "web_pool", "partition": "Common"})
    put("ltm/monitor/tcp", {"name": "mine", "partition": "Common", "interval": 7})
    put("ltm/data-group/internal", {"name": "mine_dg", "partition": "Common", "type": "string",
                                    "records": [{"name": "a", "data": "b"}]})
    put("ltm/profile/client-ssl", {"name": "openshift_mine", "partition": "Common",
                                   "defaultsFrom": "/Common/clientssl"})
    lab.bigip.store.disk["/var/config/rest/downloads/mine.key"] = DiskFile(b"mine")
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTPS}",
               {"rules": ["/Common/log_requests"], "pool": "/Common/web_pool"})
    sdn(lab)


@pytest.fixture
def served(lab):
    """A device with everything that a router makes, and how it was before."""
    foreigners(lab)
    before = everything(lab)
    assert serve(lab, **SDN, **OWN_MONITOR) == []
    assert everything(lab) != before
    lab.clear()
    return lab, before


def test_everything_goes_and_nothing_else(served, capsys):
    """Shown first; the statuses go, too, and the configuration is saved."""
    lab, before = served
    during = everything(lab)
    assert run(lab, dry_run=True) == 0
    assert run(lab, answer=False) == 1
    assert lab.writes() == []
    assert everything(lab) == during
    listing = capsys.readouterr().out
    assert ["removed", "ltm/pool"] in [line.split()[:2] for line in listing.splitlines()]
    assert "/Common/openshift_shop_web" in listing
    assert "5 Routes have its entry; nothing is changed" in listing
    assert "openshift-admin" not in listing
    assert run(lab) == 0
    assert everything(lab) == before
    assert lab.admitted("shop", "plain") == lab.admitted("shop", "edge") == {}
    last = max(at for at, entry in enumerate(lab.bigip.log) if entry.changes)
    assert [entry.path for entry in list(lab.bigip.log)[last:]].count("/mgmt/tm/sys/config") == 1
    lab.clear()
    assert run(lab) == 0
    assert lab.writes() == []
    assert saves(lab) == 1


def test_an_end_at_any_write_leaves_what_the_next_run_finishes(served):
    """Each run ends after some more writes than those before it: what a policy's draft had is done again."""
    lab, before = served
    for number in range(200):
        stop, written = threading.Event(), len(lab.writes())
        left = itertools.count(number // 5, -1)
        lab.bigip.on_write = lambda entry, stop=stop, left=left: stop.set() if next(left) <= 0 else None
        run(lab, stop=stop, update_status="false", f5_save_config="false")
        assert lab.bigip.errors == []
        if len(lab.writes()) == written:
            break
    lab.bigip.on_write = None
    assert without_nodes(everything(lab)) == without_nodes(before)


def test_what_others_need_stays(lab, capsys):
    """A policy with another's rule, a tunnel with another's record, a pool of another's virtual server."""
    foreigners(lab)
    assert serve(lab, **SDN) == []
    lab.change("PATCH", "ltm/policy/~Common~openshift_insecure_routes", {"createDraft": True})
    draft = "ltm/policy/~Common~Drafts~openshift_insecure_routes"
    lab.bigip.put_object(f"{draft}/rules", {"name": "maintenance", "ordinal": 1})
    publish = {"command": "publish", "name": "/Common/Drafts/openshift_insecure_routes"}
    lab.change("POST", "ltm/policy", publish)
    foreign(lab)
    lab.bigip.add_virtual("/Common/other", "10.0.0.9:80")
    lab.change("PATCH", "ltm/virtual/~Common~other", {"pool": "/Common/openshift_shop_web"})
    assert run(lab) == 1
    assert {item.key[-1] for item in lab.bigip.items("ltm/policy/rules")} >= {"maintenance"}
    assert lab.paths("ltm/policy") >= {"/Common/openshift_insecure_routes"}
    assert lab.pools() - {"/Common/openshift-admin", "/Common/web_pool"} == {"/Common/openshift_shop_web"}
    assert fdb(lab) == FOREIGN
    text = capsys.readouterr().out
    assert "it has rule maintenance, which is not the router's" in text
    assert "which is not the router's" in next(
        line for line in text.splitlines() if line.startswith("left") and "net/tunnels/tunnel" in line)


def test_a_router_that_runs(lab, running, caplog):
    """It is seen by what it writes while the objects are shown, and nothing is removed."""
    lab.apply(manifests.route("plain"))
    router = running()
    router.wait(lambda: lab.admitted("shop", "plain").get("status") == "True")

    def confirm(question: str) -> bool:
        lab.apply(manifests.route("more", host="more.example.com"))
        router.wait(lambda: lab.admitted("shop", "more").get("status") == "True")
        return True

    settings = lab.config()
    assert uninstall.uninstall(
        settings, dry_run=False, confirm=confirm, timing=lab.timing,
        stopping=lambda: contextlib.nullcontext(threading.Event())) == 1
    assert "changed in the meantime" in reasons(caplog)
    assert "/Common/openshift_shop_web" in lab.pools()


def test_with_an_election(lab, caplog):
    """A router that holds the Lease is not disturbed; when it has ended, the Lease is free."""
    lab.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
               "metadata": {"name": "f5router-public", "namespace": "default"},
               "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})
    lab.apply(manifests.route("plain"))
    router = lab.router(**LEASE)
    until(lambda: router.cluster.synced())
    until(lambda: router.turn() or router.replica.leads)
    lab.clear()
    assert run(lab, **LEASE) == 1
    assert "holds the Lease: stop all routers first" in reasons(caplog)
    assert lab.writes() == []
    router.replica.hand_over(DEADLINE_S)
    router.close()
    assert run(lab, **LEASE) == 0

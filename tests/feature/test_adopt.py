"""f5router adopt: what is removed and what is not, what it prints, and going on after a crash."""

import json
import re
import threading
from collections import Counter

import pytest

from f5router.cli import adopt, preflight
from f5router.model import original_names
from f5router.model.texts import number_of
from tests import manifests
from tests.builders import identity
from tests.traffic.original import Original
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.bare

HTTPS = "ltm/virtual/~Common~https-ose-vserver"
STEM = "openshift_route_shop_edge"
PAIR = identity("edge.example.com")
CHANGING = ("generation", "lastModified", "lastModifiedTime", "createTime", "lastUpdateTime", "revision",
            "sourcePath", "creationTime")


@pytest.fixture
def taken(lab):
    """The original's state, with the same Routes in the cluster."""
    return _leave(lab)


def _leave(lab) -> Original:
    lab.apply(*manifests.service("shop", "tls", pods=("10.1.3.1",), ports=(("https", 8443),)))
    old = Original(lab)
    old.start()
    old.pool("web", ("10.1.1.1:8080", "10.1.1.2:8080"))
    old.pool("tls", ("10.1.3.1:8443",))
    again = identity("again.example.com")
    old.route("edge", "edge.example.com", "web", kind="edge", pair=PAIR)
    old.route("again", "again.example.com", "tls", kind="reencrypt", pair=again, destination_ca=again.issuer)
    old.route("through", "through.example.com", "tls", kind="passthrough")
    old.route("gone", "gone.example.com", "web", kind="edge", pair=identity("gone.example.com"))
    lab.apply(
        manifests.route("edge", host="edge.example.com", kind="edge", **PAIR.tls),
        manifests.route("again", host="again.example.com", service="tls", kind="reencrypt",
                        destinationCACertificate=again.issuer, **again.tls),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))
    return old


def run(lab, *, dry_run: bool = False, stop: threading.Event | None = None) -> int:
    return adopt.adopt(lab.config(), dry_run=dry_run, stop=stop or threading.Event(), drain_s=0.0,
                       timing=lab.timing)


def state(lab) -> set[str]:
    """Everything that an administrator sees of pools, policies, iRules, data-groups, profiles, files."""
    kinds = ("ltm/pool", "ltm/policy", "ltm/rule", "ltm/data-group/internal", "ltm/profile/client-ssl",
             "ltm/profile/server-ssl", "sys/file/ssl-cert", "sys/file/ssl-key", "ltm/virtual")
    return {json.dumps(_steady(lab.bigip.shown(item)), sort_keys=True)
            for kind in kinds for item in lab.bigip.items(kind)}


def _steady(value):
    """JSON without what tells how often and when it was written."""
    if isinstance(value, dict):
        return {name: _steady(nested) for name, nested in value.items()
                if name not in CHANGING}
    return sorted((_steady(nested) for nested in value), key=str) if isinstance(value, list) else value


def originals(lab) -> set[str]:
    kinds = ("ltm/profile/client-ssl", "ltm/profile/server-ssl", "sys/file/ssl-cert", "sys/file/ssl-key",
             "ltm/data-group/internal")
    return {path for kind in kinds for path in lab.paths(kind)
            if original_names.stem(path) or path in original_names.groups("/Common")}


@pytest.mark.usefixtures("taken")
def test_a_dry_run_lists_and_writes_nothing(lab, capsys):
    lab.clear()
    assert run(lab, dry_run=True) == 0
    assert lab.writes() == []
    printed = capsys.readouterr().out.splitlines()
    rows = [re.split("  +", line.strip()) for line in printed[1:printed.index("")]]
    assert [row for row in rows if len(row) != 4] == []
    fates = {path: fate for fate, _, path, _ in rows}
    counts = Counter(fate for fate, *_ in rows)
    total = ", ".join(f"{counts[fate]} {fate}" for fate in ("taken over", "replaced", "removed", "left")
                      if counts[fate])
    assert f"{number_of(len(rows), 'object')}: {total}." in printed
    assert fates[f"/Common/{STEM}-client-ssl-profile"] == "replaced"
    assert fates["/Common/openshift_route_shop_gone-client-ssl-profile"] == "removed"
    assert fates["/Common/ssl_reencrypt_route_dg"] == "removed"
    assert ["taken over", "ltm/policy", "/Common/openshift_secure_routes",
            "it keeps its name and place"] in rows
    assert ["removed", "ltm/policy/rule", "/Common/openshift_secure_routes/rules/openshift_route_shop_gone",
            "no Route needs it any more"] in rows


@pytest.mark.usefixtures("taken")
def test_everything_of_the_original_goes(lab, capsys):
    assert originals(lab)
    assert run(lab) == 0
    assert originals(lab) == set()
    assert all(lab.admitted("shop", name)["status"] == "True" for name in ("edge", "again", "through"))
    lab.clear()
    capsys.readouterr()
    assert run(lab) == 0
    assert lab.writes() == []
    assert "Nothing of the original router is left." in capsys.readouterr().out


@pytest.mark.usefixtures("taken")
def test_what_is_an_administrators_stays(lab, capsys):
    """Names alone are no proof; and what others use stays, too."""
    post = lab.bigip.put_object
    post("ltm/profile/client-ssl", {"name": "openshift_route_shop_mine-client-ssl-profile",
                                    "defaultsFrom": "/Common/clientssl"})
    post("ltm/profile/client-ssl", {"name": "mine",
                                    "cert": "/Common/openshift_route_shop_gone-https-cert.crt",
                                    "key": "/Common/openshift_route_shop_gone-https-key.key"})
    post("ltm/rule", {"name": "mine", "apiAnonymous":
                      "when CLIENT_ACCEPTED { class match a equals ssl_reencrypt_servername_dg }"})
    lab.bigip.add_virtual("/Common/other", "10.0.0.9:443", profiles=(
        "/Common/tcp", "/Common/http", "/Common/clientssl-default", f"/Common/{STEM}-client-ssl-profile"))
    lab.change("PATCH", "ltm/data-group/internal/~Common~ssl_passthrough_route_dg",
               {"records": [{"name": "mine", "data": "of mine"}]})
    before = set(originals(lab))
    assert run(lab) == 0
    stays = {
        "/Common/openshift_route_shop_mine-client-ssl-profile": "its cert is",
        f"/Common/{STEM}-client-ssl-profile": "virtual server /Common/other carries it",
        f"/Common/{STEM}-https-cert.crt": f"profile /Common/{STEM}-client-ssl-profile uses it",
        f"/Common/{STEM}-https-key.key": f"profile /Common/{STEM}-client-ssl-profile uses it",
        "/Common/openshift_route_shop_gone-https-cert.crt": "profile /Common/mine uses it",
        "/Common/openshift_route_shop_gone-https-key.key": "profile /Common/mine uses it",
        "/Common/ssl_reencrypt_servername_dg": "iRule /Common/mine names it",
        "/Common/ssl_passthrough_route_dg": "record mine is not one of the original router",
    }
    assert originals(lab) == stays.keys() <= before
    shown = capsys.readouterr().out
    for path, why in stays.items():
        line = next(line for line in shown.splitlines() if line.split()[2] == path)
        assert line.startswith("left") and why in line  # noqa: PT018


@pytest.mark.usefixtures("taken")
def test_what_a_route_leans_on_stays_until_it_is_served(lab, capsys):
    """Its new profile is refused: the old one goes on serving, and the command fails."""
    lab.bigip.inject("refuse", times=None, method="POST", path="ltm/profile/client-ssl$", message="no")
    assert run(lab) == 1
    carried = {item["fullPath"] for item in lab.bigip.get(HTTPS)["profilesReference"]["items"]}
    assert f"/Common/{STEM}-client-ssl-profile" in carried
    assert "/Common/openshift_route_shop_gone-client-ssl-profile" not in carried
    assert f"/Common/{STEM}-https-key.key" in originals(lab)
    lab.bigip.clear_faults()
    assert run(lab) == 0
    assert originals(lab) == set()


@pytest.mark.parametrize("command", ["plan", "adopt"])
def test_what_would_not_be_served_any_more_is_listed_first(lab, taken, capsys, command):
    """The original served a Route to everybody, whatever its annotations ask for."""
    taken.route("blue", "blue.example.com", "web")
    blue = manifests.route("blue", host="blue.example.com")
    blue["metadata"]["annotations"] = {"virtual-server.f5.com/waf": "/Common/strict"}
    lab.apply(blue, manifests.route("bad", host="bad.example.com", path="x"))  # never served
    if command == "plan":
        preflight.plan(lab.config(), output="table")
    else:
        run(lab, dry_run=True)
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("no longer served")]
    assert len(shown) == 1
    assert "shop/blue" in shown[0]
    assert "does not enforce virtual-server.f5.com/waf" in shown[0]


@pytest.mark.usefixtures("taken")
def test_pools_follow_their_pods_while_it_waits(lab):
    """Old connections are given time; the addresses of pods that end meanwhile may be others' next."""
    stop = threading.Event()
    thread = threading.Thread(target=lambda: adopt.adopt(
        lab.config(), dry_run=False, stop=stop, drain_s=3600.0, timing=lab.timing))
    thread.start()
    try:
        until(lambda: lab.admitted("shop", "edge").get("status") == "True")
        lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
        pool = "ltm/pool/~Common~openshift_shop_web"
        until(lambda: [item["name"] for item in lab.bigip.get(pool)["membersReference"]["items"]]
                  == ["10.1.1.9:8080"])
    finally:
        stop.set()
        thread.join(DEADLINE_S)
    assert originals(lab)


@pytest.mark.usefixtures("taken")
def test_a_crash_anywhere_is_no_harm(lab):
    """Nothing more comes to the BIG-IP from some write on; the next run ends where one run would have."""
    before, routes, states = lab.bigip.state(), lab.routes(), []
    lab.bigip.on_write = lambda _: states.append(lab.bigip.state())
    assert run(lab) == 0
    lab.bigip.on_write = None
    wanted, count = state(lab), len(states)
    assert count > 20
    for at in range(0, count - 1, max(1, count // 10)):
        lab.apply(*routes)
        lab.bigip.put_back(states[at])
        assert run(lab) == 0
        assert originals(lab) == set()
        assert state(lab) == wanted, at
    lab.apply(*routes)
    lab.bigip.put_back(before)
    crash(lab, count // 2)
    assert run(lab) == 0
    assert state(lab) == wanted
    assert lab.bigip.errors == []


def crash(lab, at: int) -> None:
    """Run, and let nothing more come to the BIG-IP from a write on."""
    stop, seen = threading.Event(), []

    def count(request) -> None:
        seen.append(request)
        if len(seen) == at:
            lab.bigip.inject("drop-request", times=None)
            stop.set()

    lab.bigip.on_write = count
    assert run(lab, stop=stop) == 1
    lab.bigip.on_write = None
    lab.bigip.clear_faults()

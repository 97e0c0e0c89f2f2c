"""The iRule that keeps requests to their own pools: how it comes, where it is not told, what is beside it."""

import random
from contextlib import ExitStack

import pytest

from tests import legacy_policies
from tests.conftest import UNDER_LOAD
from tests.feature.test_own_pools import silence
from tests.traffic.conftest import HTTP, HTTPS
from tests.traffic.load import Load, Target
from tests.traffic.tenants import WANTED, Kept, build, virtual, wanted
from tests.waiting import until

WILD = {"allow_wildcard_routes": "true"}


@pytest.fixture
def served(tmp_path, request):
    """The tenants' site; param: behaviour and options of the device."""
    behaviour, options = getattr(request, "param", ((), {}))
    with ExitStack() as stack:
        new_site = build(stack, tmp_path, behaviour, **options)
        yield new_site
        assert new_site.faults() == []


def asked(site, tls: bool, count: int = 60, **instead: str) -> None:
    """Ask for everything on the same connections. Args: instead: what a status is for."""
    order, every = random.Random(count), list(wanted(tls).items())
    with Kept(site, tls) as client:
        for (host, path), expected in (order.choice(every) for _ in range(count)):
            assert client.ask(host, path) == instead.get(f"s{expected}", expected), (host, path)


@pytest.mark.parametrize("tls", [False, True], ids=["HTTP", "HTTPS"])
def test_the_page_is_switched_off(served, tls):
    assert served.converge(**WILD, f5_503_page="false") == []
    asked(served, tls, s503="reset")


OLD = {"tmos_version": "12.0.0"}


@pytest.mark.parametrize("served", [((), OLD), (("pool-switches-server",), OLD)], indirect=True,
                         ids=["as documented", "pool-switches-server"])
@pytest.mark.parametrize("tls", [False, True], ids=["HTTP", "HTTPS"])
def test_rules_that_tell_nothing(served, tls):
    """Below TMOS 12.1 each request after the first has a connection to a pod of its own."""
    assert served.converge(**WILD) == []
    asked(served, tls)
    before = sum(pod.accepted for pod in served.pods)
    with Kept(served, tls) as client:
        assert {client.ask("plain.example.com") for _ in range(10)} == {"shop web"}
        assert client.opened == 1
    assert sum(pod.accepted for pod in served.pods) - before == 10


@pytest.mark.parametrize("tells", [False, True], ids=["tells nothing", "tells its pool"])
def test_a_rule_of_the_administrator(served, tells):
    """In our policy, between the Routes' Rules: its requests go to its pool, all others to theirs."""
    legacy_policies.create(served.bigip)
    assert served.converge(**WILD) == []
    served.pod("10.9.9.9", "legacy", namespace="none")
    pool = {"name": "legacy", "partition": "Common", "members": [{"name": "10.9.9.9:8080"}]}
    served.change("POST", "ltm/pool", pool)
    actions = [{"name": "0", "forward": True, "select": True, "request": True, "pool": "/Common/legacy"}]
    if tells:
        actions.append({"name": "1", "tcl": True, "setVariable": True, "request": True,
                        "tmName": "f5router_pool", "expression": "/Common/legacy"})
    condition = {"name": "0", "httpHost": True, "host": True, "equals": True, "request": True,
                 "values": ["mine.example.com"]}
    served.change("POST", "ltm/policy/~Common~openshift_insecure_routes/rules", {
        "name": "mine", "ordinal": 1, "conditions": [condition], "actions": actions})
    every = {**WANTED, ("mine.example.com", "/"): "none legacy"}
    with Kept(served, False) as client:
        for host, path in random.Random(5).choices(list(every), k=60):
            assert client.ask(host, path) == every[host, path]


@pytest.mark.parametrize("legacy", [False, True], ids=["published", "legacy"])
def test_rules_that_tell_nothing_are_changed_under_load(record_property, served, legacy):
    """No request of a client that stays with its Host fails, nor goes wrong, while the iRule comes back."""
    if legacy:
        legacy_policies.create(served.bigip)
    assert served.converge(**WILD) == []
    silence(served)
    hosts = [(key, what) for key, what in WANTED.items() if " " in what]
    targets = [
        Target(f"{''.join(key)}{' with TLS' if tls else ''}", served.https if tls else served.http, *key, tls,
               served.right(what.split()[1], namespace=what.split()[0]), alone=True)
        for key, what in hosts for tls in (False, True)]
    with Load(*targets, clients=4, device=served.bigip) as load:
        until(load.more(5))
        assert served.converge(**WILD) == []
        until(load.more(10))
        report = load.stop()
    record_property(UNDER_LOAD, str(report))
    assert (report.failed, report.wrong) == ([], [])
    for tls in (False, True):
        asked(served, tls)
        assert "/Common/openshift_request_irule" in served.bigip.get(virtual(HTTPS if tls else HTTP))["rules"]

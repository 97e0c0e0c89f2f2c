"""secret_watch.py: the Secrets that Routes name, and Routes that wait for theirs."""

import logging
import threading
import time
from dataclasses import replace

import pytest

from f5router.kube.settings import SecretLimits, SecretPace
from f5router.model.cluster import Key, Secret
from f5router.model.limits import Backoff
from f5router.model.selection import Selection
from tests.unit.kube import objects
from tests.unit.kube.conftest import HURRY, lists, watching
from tests.unit.kube.secrets.conftest import grant
from tests.waiting import DEADLINE_S

A, TLS = Key("shop", "a"), Key("shop", "tls")
MISSING = Secret(TLS, problem="Secret 'tls' not found")


def route(name="a", secret="tls", termination="edge", **spec):
    tls = {"termination": termination, "externalCertificate": {"name": secret}}
    return objects.route(name, tls=tls, **spec)


def test_only_those_that_are_named(kube, follow):
    """By a field selector, for which the right to one Secret is enough."""
    kube.apply([route(), objects.route("plain"), objects.secret(), objects.secret("other")])
    follower = follow(secrets=True)
    follower.until(lambda: follower.names())
    assert follower.state["secrets"] == {TLS: Secret(TLS, "kubernetes.io/tls", "certificate", "key")}
    assert {entry.query["fieldSelector"] for entry in reads(kube)} == {"metadata.name=tls"}


def test_none_unless_wanted(kube, follow):
    """--allow-external-certificates=false."""
    kube.apply([route(), objects.secret()])
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    assert not lists(kube, "secrets")


def test_none_of_other_namespaces(kube, follow):
    """Routes that are not selected name nothing; when their namespace is, they wait for their Secret."""
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    kube.apply([shop, route(), objects.secret()])
    follower = follow(secrets=True, selection=Selection(namespace_labels="tier=web"))
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.drain()
    assert not lists(kube, "secrets")
    kube.apply({**shop, "metadata": {"name": "shop", "labels": {"tier": "web"}}})
    follower.until(lambda: follower.names() == {"a"} and follower.names("secrets") == {"tls"})
    kube.apply(shop)
    follower.until(lambda: not follower.names("secrets"))
    assert follower.names() == set()


@pytest.mark.parametrize("wrong", [
    pytest.param({"secret": "a,metadata.name!=b"}, id="a selector"),
    pytest.param({"secret": "A"}, id="capital"),
    pytest.param({"secret": "x" * 254}, id="254 characters"),
    pytest.param({"secret": "../nodes"}, id="a path"),
    pytest.param({"termination": "passthrough"}, id="passthrough"),
])
def test_what_names_no_secret(kube, follow, wrong):
    """Nobody waits for it."""
    kube.apply(route(**wrong))
    follower = follow(secrets=True)
    follower.until(lambda: follower.names() == {"a"})
    assert not lists(kube, "secrets")


def test_the_start_waits_for_it(kube, follow):
    """Without, every Route with a Secret would lose its certificate when the router starts."""
    kube.apply([route(), objects.secret()])
    kube.inject("503", method="list", path="secrets", times=1000)
    follower = follow(secrets=True)
    assert kube.wait_for(lambda: len(lists(kube, "secrets")) > 2)
    assert not follower.cluster.wait_synced(0)
    assert follower.cluster.missing() == ("Secret shop/tls is not read yet",)
    kube.clear_faults()
    follower.until(lambda: follower.names("secrets") == {"tls"})
    assert follower.names() == {"a"}
    assert follower.cluster.missing() == ()


def test_the_start_waits_for_what_routes_name_by_then(kube, follow):
    """A Route that changes while the router starts: told without its Secret, or left out of the first drain,
    it would lose what the BIG-IP has of it.
    """
    kube.apply([route(secret="old"), objects.secret("old"), objects.secret()])
    kube.forbid("services")
    follower = follow(secrets=True)
    assert kube.wait_for(lambda: watching(kube))
    kube.inject("503", method="list", path="secrets", times=1000)
    kube.apply(route())
    kube.allow("services")
    assert kube.wait_for(lambda: len(lists(kube, "secrets")) > 2)
    assert not follower.cluster.wait_synced(0)
    kube.clear_faults()
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert follower.cluster.pending() == 2
    follower.drain()
    assert follower.state["routes"][A].secret == TLS
    assert follower.names("secrets") == {"tls"}


def test_the_start_waits_no_more_for_what_nobody_names(kube, follow):
    kube.apply(route())
    kube.inject("503", method="list", path="secrets", times=1000)
    follower = follow(secrets=True)
    assert kube.wait_for(lambda: lists(kube, "secrets"))
    assert not follower.cluster.synced()
    kube.apply(objects.route())
    follower.until(lambda: follower.names() == {"a"})


@pytest.mark.parametrize("fault", ["503", "500", "delay"])
def test_the_start_waits_for_a_while(kube, follow, fault):
    """One that the API server fails over, or hangs on, holds up nobody, and is announced once it is read."""
    kube.apply([route(), objects.route("b"), objects.secret()])
    options = {"seconds": 60} if fault == "delay" else {}
    kube.inject(fault, method="list", path="secrets", times=1000, **options)
    follower = follow(secrets=True, secret_pace=replace(HURRY, start_s=0.3))
    follower.until(lambda: follower.names() == {"a", "b"})
    assert fault == "delay" or kube.wait_for(lambda: lists(kube, "secrets"))  # later on a slow machine
    assert follower.names("secrets") == set()
    assert follower.cluster.missing() == ()
    kube.clear_faults()
    if fault != "delay":
        follower.until(lambda: follower.names("secrets") == {"tls"})


def test_a_start_that_ends_in_time_is_not_ended_again(kube, follow):
    kube.apply([route(), objects.secret()])
    follower = follow(secrets=True, secret_pace=replace(HURRY, start_s=3600))
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.cluster.stop()
    assert kube.wait_for(lambda: not any(isinstance(t, threading.Timer) for t in threading.enumerate()))


@pytest.mark.parametrize(
    "before", [None, objects.route(), route(secret="old")], ids=["new", "plain", "another"])
def test_a_route_is_told_before_its_secret(kube, follow, before):
    """Its claim counts at once; what of its Secret is not known is not told as missing."""
    kube.apply([objects.secret(), objects.secret("old"), *([before] if before else [])])
    follower = follow(secrets=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.drain()
    kube.inject("503", method="list", path="secrets", times=1000)
    kube.apply(route())
    follower.until(lambda: A in follower.state["routes"] and follower.state["routes"][A].secret == TLS)
    assert kube.wait_for(lambda: len(lists(kube, "secrets")) > 2)
    follower.until(lambda: follower.names("secrets") == set())
    assert ("secrets", TLS) not in follower.drained
    kube.clear_faults()
    follower.until(lambda: follower.names("secrets") == {"tls"})


def test_the_route_is_deleted_before_its_secret_is_read(kube, follow):
    follower = follow(secrets=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    kube.inject("503", method="list", path="secrets", times=1000)
    kube.apply(route())
    follower.until(lambda: lists(kube, "secrets"))
    kube.delete("Route", "shop", "a")
    follower.until(lambda: not follower.names() and ("routes", A) in follower.drained)
    kube.clear_faults()
    kube.apply(objects.route("b"))
    follower.until(lambda: follower.names() == {"b"})
    assert follower.names("secrets") == set()


def test_rotation_and_end(kube, follow):
    kube.apply([route(), objects.secret()])
    follower = follow(secrets=True)
    follower.until(lambda: follower.names() == {"a"})
    kube.apply(objects.secret(**{"tls.crt": "second"}))
    follower.until(lambda: follower.state["secrets"][TLS].certificate == "second")
    kube.delete("Secret", "shop", "tls")
    follower.until(lambda: follower.state["secrets"][TLS] == MISSING)
    kube.apply(objects.secret(**{"tls.crt": "third"}))
    follower.until(lambda: follower.state["secrets"][TLS].certificate == "third")


def test_absent_until_it_is_made(kube, follow):
    kube.apply(route())
    follower = follow(secrets=True)
    follower.until(lambda: follower.names("secrets") == {"tls"})
    assert follower.state["secrets"][TLS] == MISSING
    kube.apply(objects.secret())
    follower.until(lambda: follower.state["secrets"][TLS].certificate)


def test_nobody_names_it_any_more(kube, follow):
    """Two Routes share one reading; it ends with the last."""
    kube.apply([route(), route("b"), objects.secret()])
    follower = follow(secrets=True, secret_pace=SecretPace())
    follower.until(lambda: follower.names() == {"a", "b"} and follower.names("secrets") == {"tls"})
    assert len(reads(kube)) == 1
    kube.apply(objects.route("a"))
    follower.until(lambda: not follower.state["routes"][A].tls)
    assert follower.names("secrets") == {"tls"}
    kube.delete("Route", "shop", "b")
    follower.until(lambda: not follower.names("secrets"))
    kube.apply(objects.route("c"))
    follower.until(lambda: "c" in follower.names())


def reads(kube) -> list:
    """Lists that can hold one Secret only."""
    return [entry for entry in lists(kube, "secrets") if "fieldSelector" in entry.query]


def test_rights_for_one_secret(kube, account, follow):
    """A refusal is knowledge too: the Route gets the reason and a remedy. A granted right is noticed."""
    kube.apply([route(), objects.secret()])
    follower = follow(connection=account, secrets=True)
    follower.until(lambda: follower.names() == {"a"})
    assert follower.state["secrets"][TLS].problem == (
        "the router may not get, list and watch Secret tls; "
        "oc create role read-tls --verb=get,list,watch --resource=secrets --resource-name=tls -n shop and "
        "oc create rolebinding read-tls --role=read-tls --serviceaccount=f5:router -n shop")
    grant(kube, "get", "list", "watch")
    follower.until(lambda: follower.state["secrets"][TLS].certificate == "certificate")
    assert follower.state["secrets"][TLS].problem == ""


@pytest.mark.parametrize(("names", "ends"), [
    pytest.param(("tls",), True, id="the team takes the right on it away"),
    pytest.param((), False, id="the right on all Secrets of the namespace is lost"),
])
def test_a_right_is_withdrawn(kube, account, follow, names, ends):
    """Only where a team granted the right on one Secret, and takes it away, is the Secret used no more."""
    kube.apply([route(), objects.secret()])
    grant(kube, "get", "list", "watch", names=names)
    pace = SecretPace(refresh_s=0.05, hasten_s=0.0, watched_s=0.05, patience_s=0.0,
                      absent=Backoff(0.01, 0.05))
    follower = follow(connection=account, secrets=True, secret_pace=pace)
    follower.until(lambda: secret_now(follower, "tls").certificate and len(reads(kube)) > 5)
    kube.delete("RoleBinding", "shop", "read-tls")
    follower.until(lambda: follower.cluster.unread_secrets())
    if ends:
        follower.until(lambda: secret_now(follower, "tls").problem)
        assert not secret_now(follower, "tls").not_loaded
        return
    before = len(reads(kube))
    follower.until(lambda: len(reads(kube)) > before + 5)
    assert secret_now(follower, "tls").certificate


def test_too_many(kube, follow):
    """The Secrets of the oldest Routes are read; of the others it is known why not, so nobody waits."""
    names = ("a", "b", "c", "d")
    kube.apply([objects.secret(name) for name in names])
    kube.apply([route(name, name) | {"metadata": {
        **route(name, name)["metadata"], "creationTimestamp": f"2026-01-0{9 - number}T00:00:00Z"}}
        for number, name in enumerate(names)])
    follower = follow(secrets=True, secret_limits=SecretLimits(per_namespace=2))
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.until(lambda: follower.names("secrets") == set(names))
    secrets = {key.name: secret for key, secret in follower.state["secrets"].items()}
    assert [name for name in names if secrets[name].certificate] == ["c", "d"]
    assert secrets["a"].problem.startswith("namespace shop names more than 2 Secrets")
    kube.delete("Route", "shop", "d")
    follower.until(lambda: secret_now(follower, "b").certificate)
    assert secret_now(follower, "a").problem


def secret_now(follower, name: str) -> Secret:
    return follower.state["secrets"].get(Key("shop", name), Secret(Key("shop", name)))


def test_an_edit_of_the_route_hastens_it(kube, follow):
    """Nobody who adds the Secret afterwards has to wait for the next turn of a missing one."""
    kube.apply(route())
    follower = follow(secrets=True, secret_pace=SecretPace(hasten_s=0.0, absent=Backoff(3600, 3600)))
    follower.until(lambda: follower.names("secrets") == {"tls"})
    kube.apply(objects.secret())
    kube.apply(route(host="edited.example.com"))
    follower.until(lambda: secret_now(follower, "tls").certificate)


def test_one_that_hangs_costs_no_other(kube, follow):
    """Secrets of a namespace in which the API server hangs leave readers to the others, first reads too."""
    kube.apply([route(f"r{n}", f"s{n}") for n in range(20)])
    kube.inject("delay", method="list", path="namespaces/shop/secrets", times=None, seconds=60)
    follower = follow(secrets=True, secret_pace=replace(HURRY, start_s=0.0))
    assert follower.cluster.wait_synced(DEADLINE_S)
    other = route("other", "fine")
    kube.apply([{**other, "metadata": {**other["metadata"], "namespace": "bank"}},
                {**objects.secret("fine"), "metadata": {"namespace": "bank", "name": "fine"}}])
    follower.until(lambda: Key("bank", "fine") in follower.state["secrets"])
    assert follower.state["secrets"][Key("bank", "fine")].certificate


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("secret")]


def test_few_threads(kube, follow):
    """However many Secrets, and whether they exist or not; all end with the ClusterWatcher."""
    kube.apply([route(f"r{n}", f"s{n}") for n in range(100)])
    follower = follow(secrets=True)
    follower.until(lambda: len(follower.state["secrets"]) == 100)
    assert 1 < len(readers()) <= HURRY.readers + 3
    follower.cluster.stop()
    for thread in readers():
        thread.join(DEADLINE_S)
    assert not readers()


def test_no_thread_for_nothing(kube, follow):
    """Readers start when there is a Secret to read."""
    kube.apply(objects.route())
    follower = follow(secrets=True)
    follower.until(lambda: follower.names() == {"a"})
    assert [thread.name for thread in readers()] == ["secrets"]


def test_an_outage_is_logged_once(kube, follow, caplog):
    """Whatever the number of Secrets: a line when it begins and one when it ends."""
    caplog.set_level(logging.DEBUG, "f5router")
    names, later_s = ("one", "two", "three"), [0.0]
    kube.apply([objects.secret(name) for name in names])
    kube.inject("503", method="list", path="secrets", times=10_000)
    kube.apply([{**route(secret=name), "metadata": {"namespace": "shop", "name": name}} for name in names])
    follower = follow(secrets=True, clock=lambda: time.monotonic() + later_s[0],
                      secret_pace=replace(HURRY, timeout_s=DEADLINE_S))

    def logged(message: str) -> list[logging.LogRecord]:
        return [record for record in caplog.records if record.message == message]

    def all_unread() -> bool:
        later_s[0] += HURRY.patience_s / 10  # each look takes so long
        return len(logged("Secret not readable")) == len(names)

    follower.until(all_unread)
    kube.clear_faults()
    follower.until(lambda: follower.names("secrets") == set(names))
    follower.until(lambda: logged("API server usable again"))
    told = [record.message for record in caplog.records if record.levelno >= logging.INFO
            and record.name.endswith((".counts", ".secret_watch"))]
    assert told == ["API server unusable", "API server usable again"]

"""secrets.py: watches of single Secrets, and Routes that wait for theirs."""

import threading

import pytest

from f5router.cluster import Key, Secret
from f5router.errors import (
    KindNotServed,
    KubeForbidden,
    KubeGone,
    KubeRefused,
    KubeUnauthorized,
    KubeUnreachable,
)
from f5router.kube import secrets
from f5router.kube.connection import KubeSettings, connect
from f5router.kube.store import Store
from f5router.selection import Selection
from tests import builders
from tests.unit.kube import objects
from tests.unit.kube.conftest import LIMIT_S, lists, watches, watching

A, TLS = Key("shop", "a"), Key("shop", "tls")
MISSING = Secret(TLS, problem="Secret 'tls' not found")
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding"}


def route(name="a", secret="tls", termination="edge", **spec):
    tls = {"termination": termination, "externalCertificate": {"name": secret}}
    return objects.route(name, tls=tls, **spec)


def watched(kube) -> set[str]:
    """Selectors of the Secrets that are watched."""
    return {entry.query["fieldSelector"] for entry in watches(kube, "secrets")}


def test_only_those_that_are_named(kube, follow):
    """By a field selector, for which the right to one Secret is enough."""
    kube.apply([route(), objects.route("plain"), objects.secret(), objects.secret("other")])
    seen = follow(watch_secrets=True)
    seen.until(lambda: seen.names())
    assert seen.state["secrets"] == {TLS: Secret(TLS, "kubernetes.io/tls", "certificate", "key")}
    assert {entry.query["fieldSelector"] for entry in lists(kube, "secrets")} == {"metadata.name=tls"}
    assert kube.wait_for(lambda: watched(kube) == {"metadata.name=tls"})


def test_none_unless_wanted(kube, follow):
    """--allow-external-certificates=false."""
    kube.apply([route(), objects.secret()])
    seen = follow()
    seen.until(lambda: seen.names() == {"a"})
    assert not lists(kube, "secrets")


def test_none_of_other_namespaces(kube, follow):
    """Routes that are not selected name nothing; when their namespace is, they wait for their Secret."""
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    kube.apply([shop, route(), objects.secret()])
    seen = follow(watch_secrets=True, selection=Selection(namespace_labels="tier=web"))
    assert seen.cluster.wait_synced(LIMIT_S)
    seen.drain()
    assert not lists(kube, "secrets")
    kube.apply({**shop, "metadata": {"name": "shop", "labels": {"tier": "web"}}})
    seen.until(lambda: seen.names() == {"a"} and seen.names("secrets") == {"tls"})
    kube.apply(shop)
    seen.until(lambda: not seen.names("secrets"))
    assert seen.names() == set()
    assert kube.wait_for(lambda: not watching(kube, "secrets"))


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
    seen = follow(watch_secrets=True)
    seen.until(lambda: seen.names() == {"a"})
    assert not lists(kube, "secrets")


def test_the_start_waits_for_it(kube, follow):
    """Without, every Route with a Secret would lose its certificate when the router starts."""
    kube.apply([route(), objects.secret()])
    kube.inject("503", method="list", path="secrets", times=1000)
    seen = follow(watch_secrets=True)
    assert kube.wait_for(lambda: len(lists(kube, "secrets")) > 2)
    assert not seen.cluster.wait_synced(0)
    assert seen.cluster.missing() == ("Secret shop/tls is not read yet",)
    kube.clear_faults()
    seen.until(lambda: seen.names("secrets") == {"tls"})
    assert seen.names() == {"a"}
    assert seen.cluster.missing() == ()


def test_the_start_waits_for_what_routes_name_by_then(kube, follow):
    """A Route that changes while the router starts: told without its Secret, or left out of the first drain,
    it would lose what the BIG-IP has of it.
    """
    kube.apply([route(secret="old"), objects.secret("old"), objects.secret()])
    kube.forbid("services")
    seen = follow(watch_secrets=True)
    assert kube.wait_for(lambda: watching(kube))
    kube.inject("503", method="list", path="secrets", times=1000)
    kube.apply(route())
    kube.allow("services")
    assert kube.wait_for(lambda: len(lists(kube, "secrets")) > 2)
    assert not seen.cluster.wait_synced(0)
    kube.clear_faults()
    assert seen.cluster.wait_synced(LIMIT_S)
    assert seen.cluster.pending() == 2
    seen.drain()
    assert seen.state["routes"][A].secret == TLS
    assert seen.names("secrets") == {"tls"}


def test_the_start_waits_no_more_for_what_nobody_names(kube, follow):
    kube.apply(route())
    kube.inject("503", method="list", path="secrets", times=1000)
    seen = follow(watch_secrets=True)
    assert kube.wait_for(lambda: lists(kube, "secrets"))
    assert not seen.cluster.synced()
    kube.apply(objects.route())
    seen.until(lambda: seen.names() == {"a"})


@pytest.mark.parametrize("fault", ["503", "500", "delay"])
def test_the_start_waits_for_a_while(kube, follow, fault):
    """One that the API server fails over, or hangs on, holds up nobody; it is told of when it was read."""
    kube.apply([route(), objects.route("b"), objects.secret()])
    options = {"seconds": 60} if fault == "delay" else {}
    kube.inject(fault, method="list", path="secrets", times=1000, **options)
    seen = follow(watch_secrets=True, secrets_s=0.3)
    seen.until(lambda: seen.names() == {"a", "b"})
    assert lists(kube, "secrets") or fault == "delay"
    assert seen.names("secrets") == set()
    assert seen.cluster.missing() == ()
    kube.clear_faults()
    if fault != "delay":
        seen.until(lambda: seen.names("secrets") == {"tls"})


def test_a_start_that_ends_in_time_is_not_ended_again(kube, follow):
    kube.apply([route(), objects.secret()])
    seen = follow(watch_secrets=True, secrets_s=3600)
    assert seen.cluster.wait_synced(LIMIT_S)
    seen.cluster.stop()
    assert kube.wait_for(lambda: not any(isinstance(t, threading.Timer) for t in threading.enumerate()))


@pytest.mark.parametrize(
    "before", [None, objects.route(), route(secret="old")], ids=["new", "plain", "another"])
def test_a_route_is_told_before_its_secret(kube, follow, before):
    """Its claim counts at once; what of its Secret is not known is not told as missing."""
    kube.apply([objects.secret(), objects.secret("old"), *([before] if before else [])])
    seen = follow(watch_secrets=True)
    assert seen.cluster.wait_synced(LIMIT_S)
    seen.drain()
    kube.inject("503", method="list", path="secrets", times=1000)
    kube.apply(route())
    seen.until(lambda: A in seen.state["routes"] and seen.state["routes"][A].secret == TLS)
    assert kube.wait_for(lambda: len(lists(kube, "secrets")) > 2)
    seen.until(lambda: seen.names("secrets") == set())
    assert ("secrets", TLS) not in seen.told
    kube.clear_faults()
    seen.until(lambda: seen.names("secrets") == {"tls"})


def test_the_route_is_deleted_before_its_secret_is_read(kube, follow):
    seen = follow(watch_secrets=True)
    assert seen.cluster.wait_synced(LIMIT_S)
    kube.inject("503", method="list", path="secrets", times=1000)
    kube.apply(route())
    seen.until(lambda: lists(kube, "secrets"))
    kube.delete("Route", "shop", "a")
    seen.until(lambda: not seen.names() and ("routes", A) in seen.told)
    kube.clear_faults()
    kube.apply(objects.route("b"))
    seen.until(lambda: seen.names() == {"b"})
    assert not watching(kube, "secrets")
    assert seen.names("secrets") == set()


def test_rotation_and_end(kube, follow):
    kube.apply([route(), objects.secret()])
    seen = follow(watch_secrets=True)
    seen.until(lambda: seen.names() == {"a"})
    kube.apply(objects.secret(**{"tls.crt": "second"}))
    seen.until(lambda: seen.state["secrets"][TLS].certificate == "second")
    kube.delete("Secret", "shop", "tls")
    seen.until(lambda: seen.state["secrets"][TLS] == MISSING)
    kube.apply(objects.secret(**{"tls.crt": "third"}))
    seen.until(lambda: seen.state["secrets"][TLS].certificate == "third")


def test_absent_until_it_is_made(kube, follow):
    kube.apply(route())
    seen = follow(watch_secrets=True)
    seen.until(lambda: seen.names("secrets") == {"tls"})
    assert seen.state["secrets"][TLS] == MISSING
    kube.apply(objects.secret())
    seen.until(lambda: seen.state["secrets"][TLS].certificate)


def test_nobody_names_it_any_more(kube, follow):
    """Two Routes share one watch; it ends with the last."""
    kube.apply([route(), route("b"), objects.secret()])
    seen = follow(watch_secrets=True)
    seen.until(lambda: seen.names() == {"a", "b"})
    assert kube.wait_for(lambda: watching(kube, "secrets"))
    assert len(lists(kube, "secrets")) == 1
    kube.apply(objects.route("a"))
    seen.until(lambda: not seen.state["routes"][A].tls)
    assert watching(kube, "secrets")
    kube.delete("Route", "shop", "b")
    seen.until(lambda: not seen.names("secrets"))
    assert kube.wait_for(lambda: not watching(kube, "secrets"))
    kube.apply(objects.route("c"))
    seen.until(lambda: "c" in seen.names())


@pytest.fixture
def account(kube, tmp_path):
    """A connection with the rights of a ServiceAccount that may read Routes, but no Secret."""
    kube.apply([
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "f5", "name": "router"}},
        {**ROLE, "kind": "ClusterRole", "metadata": {"name": "routes"}, "rules": [
            {"apiGroups": ["*"], "resources": ["routes", "services", "endpoints", "endpointslices"],
             "verbs": ["get", "list", "watch"]}]},
        {**BINDING, "kind": "ClusterRoleBinding", "metadata": {"name": "routes"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "routes"},
         "subjects": [{"kind": "ServiceAccount", "namespace": "f5", "name": "router"}]},
    ])
    path = tmp_path / "account"
    kube.write_kubeconfig(path)
    path.write_text(path.read_text().replace(kube.token, kube.token_for("f5", "router")))
    return connect(KubeSettings(kubeconfig=str(path), connect_timeout_s=2, read_timeout_s=2))


def grant(kube, *verbs: str) -> None:
    """What the message tells to do, for some verbs."""
    kube.apply([
        {**ROLE, "metadata": {"namespace": "shop", "name": "read-tls"}, "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["tls"], "verbs": list(verbs)}]},
        {**BINDING, "metadata": {"namespace": "shop", "name": "read-tls"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read-tls"},
         "subjects": [{"kind": "ServiceAccount", "namespace": "f5", "name": "router"}]},
    ])


def test_rights_for_one_secret(kube, account, follow):
    """Refused it is known too: the Route is told, with the way out. The right is noticed by itself."""
    kube.apply([route(), objects.secret()])
    seen = follow(connection=account, watch_secrets=True)
    seen.until(lambda: seen.names() == {"a"})
    assert seen.state["secrets"][TLS].problem == (
        "the router may not get, list and watch Secret tls; "
        "oc create role read-tls --verb=get,list,watch --resource=secrets --resource-name=tls -n shop and "
        "oc create rolebinding read-tls --role=read-tls --serviceaccount=f5:router -n shop")
    grant(kube, "get", "list", "watch")
    seen.until(lambda: seen.state["secrets"][TLS].certificate == "certificate")
    assert seen.state["secrets"][TLS].problem == ""


def test_the_right_to_list_alone(kube, account, follow):
    """Nothing flaps between what the list shows and what the watch is refused."""
    kube.apply([route(), objects.secret()])
    grant(kube, "get", "list")
    seen = follow(connection=account, watch_secrets=True)
    seen.until(lambda: len(watches(kube, "secrets")) > 3)
    assert seen.state["secrets"][TLS].problem
    assert seen.told.count(("secrets", TLS)) == 1


def one(clock):
    store, told = Store(), []
    return secrets.One(TLS, store, lambda: told.append(store.get("secrets", TLS)), clock), store, told


FORBIDDEN, BROKEN = KubeForbidden("403 no"), KubeUnreachable("500 unable to transform key", status=500)


def test_a_refusal_for_a_moment():
    """What was read is used on; a right that is really withdrawn counts after PATIENCE_S."""
    now = [0.0]
    watch, store, told = one(lambda: now[0])
    first, second = Secret(TLS, "", "one"), Secret(TLS, "", "two")
    watch.replace("secrets", {TLS: (first,)})
    assert not watch.known
    watch.accepted()
    assert watch.known
    for at, failure, wanted in (
        (0.0, FORBIDDEN, first), (secrets.PATIENCE_S - 1, FORBIDDEN, first),
        (secrets.PATIENCE_S, None, first), (2 * secrets.PATIENCE_S, FORBIDDEN, first),
    ):
        now[0] = at
        watch.failed(failure) if failure else watch.accepted()
        assert store.get("secrets", TLS) == wanted
    assert watch.put("secrets", TLS, (second,))
    now[0] = 3 * secrets.PATIENCE_S
    watch.failed(FORBIDDEN)
    assert store.get("secrets", TLS).problem
    assert not watch.put("secrets", TLS, (first,))
    watch.accepted()
    assert store.get("secrets", TLS) == first
    assert len(told) == 3


FAILURES = [
    pytest.param(BROKEN, id="cannot be decrypted"),
    pytest.param(KubeRefused("400 no"), id="refused"),
    pytest.param(KubeUnauthorized("401 no"), id="credentials of the router"),
    pytest.param(KubeUnreachable("no reply"), id="no reply"),
    pytest.param(KubeUnreachable("503", status=503), id="overloaded"),
    pytest.param(KindNotServed("404"), id="not served"),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_says_nothing_of_the_secret(failure):
    """It is unknown as before, and after PATIENCE_S that is told, once."""
    now = [0.0]
    watch, store, told = one(lambda: now[0])
    watch.failed(failure)
    assert not told
    now[0] = secrets.PATIENCE_S
    watch.failed(failure)
    found = store.get("secrets", TLS)
    assert found == Secret(TLS, problem=f"Secret tls cannot be read: {failure}", unread=True)
    watch.failed(KubeUnreachable("another"))
    assert not watch.known
    watch.replace("secrets", {TLS: (Secret(TLS),)})
    watch.accepted()
    assert told == [found, Secret(TLS)]
    assert watch.known


@pytest.mark.parametrize("failure", [*FAILURES, pytest.param(KubeGone("410"), id="too old")])
def test_what_was_read_is_used_on(failure):
    now = [0.0]
    watch, store, told = one(lambda: now[0])
    watch.replace("secrets", {TLS: (Secret(TLS),)})
    watch.accepted()
    for now[0] in (0.0, secrets.PATIENCE_S):
        watch.failed(failure)
    assert store.get("secrets", TLS) == Secret(TLS)
    assert len(told) == 1


def test_a_missing_right_counts_at_once():
    """Where nothing was read before; what goes wrong afterwards does not hide it."""
    now = [0.0]
    watch, store, told = one(lambda: now[0])
    watch.failed(FORBIDDEN)
    refusal = store.get("secrets", TLS)
    assert refusal.problem.startswith("the router may not get, list and watch Secret tls")
    assert watch.known
    assert not refusal.unread
    now[0] = 2 * secrets.PATIENCE_S
    watch.failed(BROKEN)
    assert told == [refusal]


def test_an_end_is_the_end():
    """A watch that still hears something does not bring its Secret back; another name is not its own."""
    watch, store, _ = one(lambda: 0.0)
    watch.replace("secrets", {})
    watch.accepted()
    assert store.get("secrets", TLS) == MISSING
    assert not watch.put("secrets", A, (Secret(A),))
    assert watch.put("secrets", TLS, (Secret(TLS),))
    watch.end()
    watch.failed(FORBIDDEN)
    watch.accepted()
    assert not watch.put("secrets", TLS, (Secret(TLS),))
    assert store.get("secrets", TLS) is None


def test_stop_ends_its_thread(kube, follow):
    kube.apply([route(), objects.secret()])
    seen = follow(watch_secrets=True)
    seen.until(lambda: seen.names() == {"a"})
    thread = next(t for t in threading.enumerate() if t.name == "watch-secret-shop/tls")
    seen.cluster.stop()
    thread.join(LIMIT_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("moment", ["before", "while it starts"])
def test_stop_misses_no_watch(moment):
    """Neither one that is just being started by another thread, nor one that comes later."""
    running, store = set(), Store()

    class Watch:
        def stop(self):
            running.discard(self)

    def start(key, one):
        if moment == "while it starts":
            found.stop()
        watch = Watch()
        running.add(watch)
        return watch

    found = secrets.Secrets(start, store, lambda: None, lambda: 0.0)
    if moment == "before":
        found.stop()
    found.follow({A: builders.route("a", kind="edge", external_certificate="tls")})
    assert not running

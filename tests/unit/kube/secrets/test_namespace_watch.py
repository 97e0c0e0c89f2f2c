"""secret_watch.py: one watch of a namespace whose Secrets may be watched."""

import itertools
import threading
import time

import pytest

from f5router.kube.secrets import secret_namespaces
from f5router.kube.settings import SecretPace, WatchTiming
from f5router.kube.watch.reflector import Listener, Reflector
from f5router.model.limits import Backoff
from tests.unit.kube import objects
from tests.unit.kube.conftest import HURRY, lists, watches, watching
from tests.unit.kube.secrets.conftest import grant
from tests.unit.kube.secrets.test_secret_watch import MISSING, readers, reads, route, secret_now
from tests.waiting import DEADLINE_S

SELDOM = SecretPace(refresh_s=3600, watched_s=3600, hasten_s=0.0, absent=Backoff(3600, 3600))


def test_a_namespace_that_may_be_watched(kube, account, follow):
    """A change there is read at once."""
    kube.apply([route(), objects.secret(), objects.secret("other")])
    grant(kube, "get", "list", "watch", names=())
    follower = follow(connection=account, secrets=True, secret_pace=SELDOM)
    follower.until(lambda: follower.names("secrets") == {"tls"} and watching(kube, "secrets"))
    kube.apply(objects.secret("other", **{"tls.crt": "changed"}))
    kube.apply(objects.secret(**{"tls.crt": "second"}))
    follower.until(lambda: secret_now(follower, "tls").certificate == "second")
    kube.delete("Secret", "shop", "tls")
    follower.until(lambda: secret_now(follower, "tls") == MISSING)
    kube.apply(objects.secret(**{"tls.crt": "third"}))
    follower.until(lambda: secret_now(follower, "tls").certificate == "third")
    assert follower.names("secrets") == {"tls"}
    assert {entry.query["fieldSelector"] for entry in reads(kube)} == {"metadata.name=tls"}


def test_metadata_only(kube, connection):
    """Neither the list nor the watch of a namespace has what is in its Secrets."""
    kube.apply([objects.secret(), objects.secret("other")])
    seen, asked = [], []

    class Spy:
        """Passes on requests, and keeps the replies."""

        watch_counts = connection.watch_counts

        def page(self, path, query, accept):
            asked.append(path)
            page = connection.page(path, query, accept)
            documents = page.documents
            page.documents = lambda: (seen.append(document) or document for document in documents())
            return page

        def request(self, method, path, **options):
            asked.append(path)
            stream = connection.request(method, path, **options)
            seen.extend(itertools.islice(stream.documents(), 1))
            return stream

    changes, done = secret_namespaces.SecretVersions(lambda key: None), threading.Event()
    reflector = Reflector(
        Spy(), secret_namespaces.SOURCE, changes, namespace="shop", selectors={}, timing=WatchTiming(),
        clock=time.monotonic, sleep=done.wait, listener=Listener(
            on_list=lambda: kube.apply(objects.secret("third")), on_problem=lambda text: reflector.stop()))
    reflector.run()
    assert asked == ["/api/v1/namespaces/shop/secrets"] * 2
    assert len(seen) == 3
    assert all(b"tls.crt" not in document.text and b"metadata" in document.text for document in seen)


@pytest.mark.parametrize("fault", ["410", "error-event", "truncated", "drop-watch"])
def test_the_watch_of_a_namespace_ends(kube, follow, fault):
    """It begins anew, and nothing that happened meanwhile is missed."""
    kube.apply([route(), objects.secret()])
    follower = follow(secrets=True, secret_pace=SELDOM)
    follower.until(lambda: follower.names("secrets") == {"tls"} and watching(kube, "secrets"))
    kube.inject(fault, path="secrets", **({"code": "410"} if fault == "error-event" else {}))
    if fault == "410":
        kube.inject("drop-watch", path="secrets")
    kube.apply(objects.secret(**{"tls.crt": "second"}))
    follower.until(lambda: secret_now(follower, "tls").certificate == "second")


@pytest.mark.parametrize("verbs", [("get", "list"), ("get", "watch"), ()], ids=" ".join)
def test_no_watch_without_the_right(kube, account, follow, verbs):
    """The right is asked for; no request is refused because of it."""
    kube.apply([route(), objects.secret()])
    grant(kube, *verbs, names=())
    follower = follow(connection=account, secrets=True)
    follower.until(lambda: follower.names("secrets") == {"tls"} and len(asked(kube)) >= 1)
    kube.apply(route("b", "more"))
    follower.until(lambda: follower.names("secrets") == {"tls", "more"})
    assert not watches(kube, "secrets")
    assert all("fieldSelector" in entry.query for entry in lists(kube, "secrets"))


def asked(kube) -> list:
    return [entry for entry in kube.log if entry.path.endswith("/selfsubjectaccessreviews")]


def test_the_right_to_watch_is_withdrawn(kube, account, follow):
    """Its Secrets are read in turn again."""
    kube.apply([route(), objects.secret()])
    grant(kube, "get", "list", "watch", names=())
    pace = SecretPace(refresh_s=0.1, watched_s=3600, hasten_s=0.0)
    follower = follow(connection=account, secrets=True, secret_pace=pace)
    follower.until(lambda: follower.names("secrets") == {"tls"} and watching(kube, "secrets"))
    grant(kube, "get", "list", "watch")
    kube.inject("drop-watch", path="secrets")
    assert kube.wait_for(lambda: not watching(kube, "secrets"))
    kube.apply(objects.secret(**{"tls.crt": "second"}))
    follower.until(lambda: secret_now(follower, "tls").certificate == "second")


def test_few_namespaces_are_watched(kube, follow):
    """Namespaces with the most Secrets are watched; the threads stay few, and end."""
    for number in range(secret_namespaces.MOST + 3):
        namespace = f"n{number}"
        kube.apply([route(f"r{each}", f"s{each}", namespace=namespace) for each in range(number + 1)])
    follower = follow(secrets=True, secret_pace=SecretPace())
    follower.until(lambda: len(watches(kube, "secrets")) >= secret_namespaces.MOST)
    watched = {entry.path.split("/")[4] for entry in watches(kube, "secrets")}
    assert watched == {f"n{number}" for number in range(3, secret_namespaces.MOST + 3)}
    assert len(readers()) <= HURRY.readers + 3  # the other three: docs/threads.md
    follower.cluster.stop()
    for thread in threading.enumerate():
        if thread.name.startswith(("watch-secrets", "secret")):
            thread.join(DEADLINE_S)
            assert not thread.is_alive()

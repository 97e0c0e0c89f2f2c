"""Statuses: removal of one status, between the writes of others."""

import pytest

from f5router.cli.object_statuses import Statuses
from f5router.kube.api import fields
from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.kube.status.status_request import OwnedEntry
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from f5router.model.errors import KubeConflict
from mocks.kube import FakeKube
from tests.unit.kube import objects


def own(obj):
    status = fields.mapping(obj.get("status"))
    return status if status.get("currentStatus") == "ours" else None


@pytest.fixture
def kube():
    """One object whose kind has a sub-resource: a patch of the object changes no status."""
    with FakeKube() as server:
        server.apply(objects.route("a") | {"status": {"currentStatus": "ours", "more": "theirs"}})
        yield server


@pytest.fixture
def statuses_of(kube, tmp_path):
    kube.write_kubeconfig(tmp_path / "kubeconfig")
    connection = connect(KubeSettings(kubeconfig=str(tmp_path / "kubeconfig")))
    return lambda own: Statuses(connection, ROUTES, ROUTES, own,
                                lambda obj: {"currentStatus": None})


def owned(kube, uid: str = "") -> OwnedEntry:
    return OwnedEntry(Key("shop", "a"), uid or kube.get("Route", "shop", "a")["metadata"]["uid"], {})


def status(kube) -> dict:
    return kube.get("Route", "shop", "a")["status"]


def test_a_subresource(kube, statuses_of):
    """From the first status on it is known; a status that is gone is not written."""
    statuses = statuses_of(own)
    assert statuses.remove(owned(kube)) is not None
    assert status(kube).get("currentStatus") is None
    assert status(kube)["more"] == "theirs"
    assert statuses.subresource == "/status"
    assert statuses.remove(owned(kube)) is None


def test_another_object_of_the_same_name(kube, statuses_of):
    assert statuses_of(own).remove(owned(kube, uid="another")) is None
    assert status(kube)["currentStatus"] == "ours"


def test_another_writer_after_the_reading(kube, statuses_of):
    """Its status stays."""
    def meanwhile(obj):
        kube.seed(kube.get("Route", "shop", "a") | {"status": {"currentStatus": "theirs"}})
        return own(obj)

    with pytest.raises(KubeConflict):
        statuses_of(meanwhile).remove(owned(kube))
    assert status(kube) == {"currentStatus": "theirs"}

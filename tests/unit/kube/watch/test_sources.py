"""sources.py: which kinds of the Gateway API a cluster has for sure, and in which version."""

import pytest

from f5router.kube.api.connection import Connection, connect
from f5router.kube.settings import KubeSettings
from f5router.kube.watch.sources import HTTP_ROUTES, INGRESSES, TLS_ROUTES, Source, choose_served, is_absent
from f5router.model.errors import KubeError
from mocks.kube import FakeKube
from tests.rows import rows


def connected(kube: FakeKube, folder) -> Connection:
    kube.write_kubeconfig(folder / "config")
    return connect(KubeSettings(kubeconfig=str(folder / "config")))


@rows(("release", "version"), [("v1.3", "v1alpha2"), ("v1.4", "v1alpha3"), ("v1.6", "v1"), ("v0.8", "")])
def test_the_version_that_is_served(tmp_path, release, version):
    with FakeKube(gateway_api=release) as kube:
        connection = connected(kube, tmp_path)
        served = choose_served(connection, TLS_ROUTES)
        assert (served.group_path.rpartition("/")[2] if served else "") == version
        assert is_absent(connection, TLS_ROUTES) == (not version)


def test_a_group_that_is_not_served_may_come(tmp_path):
    with FakeKube(gateway_api="v1.6") as kube:
        kube.withdraw("gateway.networking.k8s.io")
        connection = connected(kube, tmp_path)
        for source in (TLS_ROUTES, HTTP_ROUTES):
            with pytest.raises(KubeError):
                is_absent(connection, source)


@rows("source", [INGRESSES])
def test_other_groups_are_not_asked(tmp_path, source: Source):
    with FakeKube(gateway_api="v1.6") as kube:
        connection = connected(kube, tmp_path)
        kube.clear_log()
        assert not is_absent(connection, source)
        assert kube.log == []

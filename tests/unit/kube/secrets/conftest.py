"""An account that may read Routes, and what it is granted besides."""

import pytest

from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from tests.waiting import DEADLINE_S

ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
BINDING = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding"}


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
    return connect(KubeSettings(
        kubeconfig=str(path), connect_timeout_s=DEADLINE_S, read_timeout_s=DEADLINE_S))


def grant(kube, *verbs: str, names: tuple[str, ...] = ("tls",)) -> None:
    """Grant some verbs, as the message asks for. Args: names: none for all Secrets of the namespace."""
    kube.apply([
        {**ROLE, "metadata": {"namespace": "shop", "name": "read-tls"}, "rules": [
            {"apiGroups": [""], "resources": ["secrets"], "verbs": list(verbs)}
            | ({"resourceNames": list(names)} if names else {})]},
        {**BINDING, "metadata": {"namespace": "shop", "name": "read-tls"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "read-tls"},
         "subjects": [{"kind": "ServiceAccount", "namespace": "f5", "name": "router"}]},
    ])

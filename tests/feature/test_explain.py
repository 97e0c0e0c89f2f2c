"""The command `explain`, on a fake API server."""

import pytest
from click.testing import CliRunner

from f5router.cli.main import main
from mocks.kube import FakeKube
from tests import manifests
from tests.manifests import delegate, forward, ingress_route

TREE = """\
IngressRoute bank/pay: valid: valid IngressRoute

root shop/root: www.example.com, TLS with Secret tls
  / -> Service shop/web port http
  /pay -> IngressRoute bank/pay
    /pay -> Service bank/pay port http (90%), Service bank/pay-v2 port http (10%)
    /pay/bad -> IngressRoute bank/bad
      invalid: Service [none:8080] is invalid or missing
      no part of it is served
    /pay/gone -> IngressRoute bank/gone: does not exist
"""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory):
    path = tmp_path_factory.mktemp("kube") / "kubeconfig"
    with FakeKube() as kube:
        for namespace, name in (("shop", "web"), ("bank", "pay"), ("bank", "pay-v2")):
            for obj in manifests.service(namespace, name):
                kube.apply(obj)
        for obj in (
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": "tls"},
             "type": "kubernetes.io/tls", "data": {"tls.crt": "eA==", "tls.key": "eA=="}},
            ingress_route("root", forward("/", "web"), delegate("/pay", "pay", "bank"),
                          fqdn="www.example.com", tls={"secretName": "tls"}),
            ingress_route("pay", forward("/pay", {"name": "pay", "port": 8080, "weight": 90},
                                         {"name": "pay-v2", "port": 8080, "weight": 10}),
                          delegate("/pay/bad", "bad"), delegate("/pay/gone", "gone"), namespace="bank"),
            ingress_route("bad", forward("/pay/bad", "none"), namespace="bank"),
            ingress_route("lost", forward("/x", "web")),
            ingress_route("other", forward("/", "web"), fqdn="other.example.com",
                          tls={"secretName": "none"})):
            kube.apply(obj)
        kube.write_kubeconfig(str(path))
        yield str(path)


def explain(kubeconfig, *arguments):
    result = CliRunner().invoke(main, ["explain", "ingressroute", *arguments, f"--config={kubeconfig}"])
    return result.exit_code, result.stdout


def test_tree(kubeconfig):
    status, text = explain(kubeconfig, "bank/pay")
    warning = '  warning: route "/pay/gone": delegates to IngressRoute bank/gone, which does not exist\n'
    assert text.replace(warning, "") == TREE
    assert warning in text
    assert status == 0


@pytest.mark.parametrize(("arguments", "words"), [
    (["bank/bad"], "IngressRoute bank/bad: invalid: Service [none:8080] is invalid or missing"),
    (["shop/lost"], "to do: delegate to it from a root, or make it one with spec.virtualhost "
     "(docs/findings.md#orphaned)\n"),
    (["bank/bad"], "(docs/findings.md#invalidingressroute)\n"),
    (["shop/lost"], "No root delegates to it. It has 1 route:\n  \"/x\" -> web:8080"),
    (["shop/other"], 'Secret "none" is invalid: Secret not found\n  no part of it is served'),
    (["shop/root", "--root-namespaces=bank"], "root IngressRoute cannot be defined in this namespace"),
    (["shop/root", "--ingressroute-class=f5"], "shop/root: it does not exist, or has another class"),
    (["shop/none"], "IngressRoute shop/none: it does not exist, or has another class"),
])
def test_not_valid(kubeconfig, arguments, words):
    status, text = explain(kubeconfig, *arguments)
    assert status == 1
    assert words in text


@pytest.mark.parametrize("arguments", [["root"], ["/root"], ["shop/"], ["shop/a/b"],
                                       ["shop/root", "--root-namespaces=A"]])
def test_wrong_usage(kubeconfig, arguments):
    assert explain(kubeconfig, *arguments) == (2, "")


def test_api_server_that_refuses(tmp_path):
    assert explain(str(tmp_path / "none"), "shop/root")[0] == 2

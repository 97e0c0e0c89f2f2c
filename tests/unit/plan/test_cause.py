"""f5router.plan.changes: for what an object of the BIG-IP is, by its name."""

import pytest

from f5router.model import names, tls_names
from f5router.model.ltm import Attachment, CertFile, ClientSSL, DataGroup, KeyFile, Policy, Pool, Record, Rule
from f5router.model.net import FDBRecord, StaticRoute
from f5router.plan.changes import cause


def rule(name: str) -> Rule:
    return Rule("/Common/p", name, 1, frozenset(), None)


@pytest.mark.parametrize(("obj", "shown"), [
    (rule("openshift_route_shop_web"), "Route shop/web"),
    (rule("openshift_route_shop_web__2"), "Route shop/web"),
    (rule("openshift_route_shop_-i-0123.web"), "Ingress shop/web"),
    (rule("openshift_route_shop_" + "x" * 20 + "._0123456789abcdef"), "namespace shop"),
    (Pool("/Common/openshift_shop_web"), "Service shop/web"),
    (Pool("/a/b/openshift_shop_web_8080__0123456789abcdef"), "Service shop/web"),
    (Pool("/Common/openshift_nowhere"), ""),
    (ClientSSL("/Common/x", "www.example.com", "c", "k"), "host www.example.com"),
    (Record("/Common/ssl_passthrough_servername_dg", ".example.com", "/Common/p"), "host *.example.com"),
    (CertFile("/Common/openshift_route_shop_web-https-cert-0123456789abcdef.crt", "x"), "Route shop/web"),
    (KeyFile("/a/openshift_route_shop_-c-1.w-https-key-0123456789abcdef.key", "x"),
     "Secret shop/w"),
    (KeyFile("/Common/openshift_client-https-key-0123456789abcdef.key", "x"), ""),
    (Record("/Common/openshift_server_names_dg", "www.example.com", ""), "host www.example.com"),
    (Record("/Common/openshift_server_names_dg", names.STRICT, "1"), ""),
    (Record("/Common/ssl_reencrypt_serverssl_dg", "/Common/openshift_shop_web", "x"), "Service shop/web"),
    (Record("/Common/ssl_reencrypt_serverssl_dg", "/Common/openshift_shop_web/1", "x"), "Service shop/web"),
    (Record("/Common/openshift_timeouts_dg", "/Common/p", "1"), ""),
    (Record("/Common/openshift_timeouts_dg", "/Common/openshift_shop_web", "1"), "Service shop/web"),
    (Record("/Common/openshift_timeouts_dg", "www.example.com", "1"), "host www.example.com"),
    (Record("/Common/openshift_http_dg", "0123456789abcdef", "1"), ""),
    (FDBRecord("/Common/t", "0a:0a:01:02:03:04", "1.2.3.4"), "the Node at 1.2.3.4"),
    (StaticRoute("/Common/r", "10.1.0.0/24", "1.2.3.4", "n1"), "Node n1"),
    (StaticRoute("/Common/r", "10.1.0.0/24", "1.2.3.4"), "the Node at 1.2.3.4"),
    (DataGroup("/Common/d"), ""),
    *((Attachment("/Common/v", "profiles", tls_names.client_ssl("/Common", host), ClientSSL.KIND), shown)
      for host, shown in (("a.com", "host a.com"), ("*.a.com", "host *.a.com"), ("x" * 250, ""))),
    (Attachment("/Common/v", "policies", "/Common/openshift_secure_routes", Policy.KIND), ""),
])
def test_causes(obj, shown):
    assert cause(obj) == shown

"""Warnings about the Services of a Route: which of them its team should hear of."""

from dataclasses import replace

import pytest

from f5router.desired.engine import Engine
from f5router.model.cluster import Backend, ServicePort
from tests.builders import FACTS, Settings, endpoints, node, route, service
from tests.unit.desired.test_engine import NODEPORT, STATIC, delta

NODE, PODS = node("n1", "10.1.2.1", pod_cidrs=("10.128.0.0/23",)), endpoints("10.1.1.1")
TWO = {"weight": 100, "alternates": (Backend("api", 0),)}
"""A second Service that gets no requests."""
HTTP2 = replace(service("web"), ports=(
    ServicePort("http", 8080, target_port="8080", app_protocol="kubernetes.io/h2c"),))
HTTP2_API = replace(HTTP2, key=service("api").key)
ASTRAY = replace(endpoints("10.7.7.7", name="astray"), places=(("10.7.7.7", "n1"),))
OF_THE_BIGIP = replace(endpoints("10.9.9.1", name="refused"), service="api")
REFUSED = {"path": "no-slash"}


@pytest.mark.parametrize(("config", "wanted", "cluster", "reasons"), [
    pytest.param(Settings(), {}, [service("web")], ["NoEndpoints"], id="no pods"),
    pytest.param(Settings(), REFUSED, [service("web")], [], id="no pods, not served"),
    pytest.param(Settings(), {}, [service("web"), PODS, service("api")], [], id="pods"),
    pytest.param(Settings(), TWO, [service("web"), PODS, service("api")], [], id="no pods, and no requests"),
    pytest.param(Settings(), TWO, [service("web"), PODS], ["ServiceNotFound"],
                 id="no Service, and no requests"),
    pytest.param(Settings(), {}, [service("web"), endpoints("10.9.9.1")], ["AddressesRefused"],
                 id="pods with addresses of the BIG-IP"),
    pytest.param(Settings(), TWO, [service("web"), PODS, service("api"), OF_THE_BIGIP], ["AddressesRefused"],
                 id="pods with addresses of the BIG-IP, and no requests"),
    pytest.param(NODEPORT, {}, [service("web"), PODS], ["NoNodePort"], id="no node port"),
    pytest.param(NODEPORT, REFUSED, [service("web"), PODS], [], id="no node port, not served"),
    pytest.param(NODEPORT, TWO, [service("web", node_port=30080, type="NodePort"), PODS, service("api")], [],
                 id="no node port, and no requests"),
    pytest.param(Settings(), {}, [HTTP2, PODS], ["UnsupportedProtocol"], id="HTTP/2"),
    pytest.param(Settings(), {"kind": "edge"}, [HTTP2, PODS], ["UnsupportedProtocol"], id="HTTP/2, edge"),
    pytest.param(Settings(), {"kind": "passthrough"}, [HTTP2, PODS], [], id="HTTP/2, passthrough"),
    pytest.param(Settings(), {"pods_speak_tls": True}, [HTTP2, PODS], ["UnverifiedPods"],
                 id="HTTP/2, TLS to pods"),
    pytest.param(Settings(), REFUSED, [HTTP2, PODS], [], id="HTTP/2, not served"),
    pytest.param(Settings(), TWO, [service("web"), PODS, HTTP2_API], [], id="HTTP/2, and no requests"),
    pytest.param(STATIC, {}, [service("web"), ASTRAY], ["PodsNotReached"], id="not reached"),
    pytest.param(STATIC, REFUSED, [service("web"), ASTRAY], [], id="not reached, not served"),
    pytest.param(STATIC, TWO, [service("web"), PODS, service("api"), replace(ASTRAY, service="api")], [],
                 id="not reached, and no requests"),
])
def test_warnings(config, wanted, cluster, reasons):
    own = replace(route("a", kind=wanted.get("kind", "")),
                  **{name: value for name, value in wanted.items() if name != "kind"})
    engine = Engine(config)
    engine.set_facts(replace(FACTS, own_addresses=frozenset({"10.9.9.1"})))
    engine.apply(delta((own, True), (NODE, True), *((obj, True) for obj in cluster)))
    assert [warning.reason for warning in engine.warnings(own.key)] == reasons

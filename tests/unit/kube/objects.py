"""API objects as JSON, for the fake API server and for decode.py."""

import base64


def route(name="a", *, namespace="shop", host="www.example.com", ingress=None, **spec):
    obj = {
        "apiVersion": "route.openshift.io/v1", "kind": "Route",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"host": host, "to": {"kind": "Service", "name": "web", "weight": 100},
                 "wildcardPolicy": "None", **spec},
    }
    return obj | ({"status": {"ingress": ingress}} if ingress is not None else {})


def service(name="web", *, namespace="shop", **spec):
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name},
        "spec": {"clusterIP": "172.30.0.10",
                 "ports": [{"name": "http", "port": 80, "targetPort": 8080}], **spec},
    }


def endpoint_slice(name="web-1", *addresses, namespace="shop", owner="web", **more):
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"namespace": namespace, "name": name, "labels": {"kubernetes.io/service-name": owner}},
        "addressType": "IPv4", "ports": [{"name": "http", "port": 8080}],
        "endpoints": [{"addresses": [address]} for address in addresses], **more,
    }


def endpoints(name="web", *subsets, namespace="shop"):
    return {
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": namespace, "name": name},
        "subsets": [{"addresses": [{"ip": address} for address in addresses],
                     "ports": [{"name": "http", "port": port}]} for port, addresses in subsets],
    }


def node(name="node-1", address="192.0.2.1"):
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }


def secret(name="tls", *, namespace="shop", type="kubernetes.io/tls", **data):
    texts = {"tls.crt": "certificate", "tls.key": "key"} | data
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name},
        "type": type, "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }

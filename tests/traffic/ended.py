"""Listeners of protocol TLS and mode Terminate: sites with them, and clients that wait for the first word."""

import json
import socket
import ssl
from typing import Any, NamedTuple

from tests.builders import identity
from tests.gateways import EVERYWHERE, PASSTHROUGH, backend, gateway_class, listener, parent, tls_route
from tests.traffic import clients
from tests.traffic.conftest import PODS
from tests.traffic.test_https_listeners import secret

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway",
         "gateway_addresses": "10.9.0.0/28"}
VIRTUAL = "/Common/openshift_https__infra.web.443"
HOST = "db.example.com"
DB, WILD, OTHER = (identity(name) for name in (HOST, "*.example.com", "other.example.com"))
SECRETS = (secret("db", DB), secret("wild", WILD), secret("other", OTHER))
NAMESPACES = ("infra", "shop", "bank")


def ending(name: str = "tls", hostname: str = HOST, *secrets: str, **more: Any) -> dict:
    """A listener whose TLS the BIG-IP ends, for TLSRoutes."""
    refs = [{"name": each} for each in secrets or ("db",)]
    return listener(name, **{**PASSTHROUGH, "tls": {"mode": "Terminate", "certificateRefs": refs}, **more},
                    hostname=hostname, namespaces=EVERYWHERE)


def of(namespace: str, *hostnames: str, name: str = "r", service: str = "db", section: str = "tls",
       **more: Any) -> dict:
    """A TLSRoute to the pods of its namespace."""
    return tls_route(name, backend(service, 5432), namespace=namespace, hostnames=hostnames or (HOST,),
                     parents=(parent("web", namespace="infra", sectionName=section),), **more)


def site_with(site_of, *objects: dict, **options: Any):
    """A site with Services db, whose pods speak first, tls, whose pods end TLS, and web in each namespace."""
    site = site_of(address="", gateway_api="v1.6", **options)
    for number, namespace in enumerate(NAMESPACES, start=1):
        site.serve("db", f"10.1.{number}.1", namespace=namespace, port=5432)
        site.pod(f"10.1.{number}.1", "db", namespace=namespace, port=5432, raw=True,
                 greeting=f"{namespace}\n".encode())
        site.serve("tls", f"10.2.{number}.1", namespace=namespace, port=5432, tls=PODS)
        site.serve("web", f"10.3.{number}.1", namespace=namespace)
    site.apply(gateway_class(), *SECRETS, *objects)
    return site


class Met(NamedTuple):
    """Outcome of a connection."""

    who: str
    """Namespace of the pod that speaks first; "reset", or "silent" if it is not one that does."""
    certificate: str = ""


def meet(site, host: str | None = HOST, virtual: str = VIRTUAL) -> Met:
    """Connect over TLS, and wait for the first word; then the pod must get what is sent."""
    certificate = ""
    try:
        with (socket.create_connection(site.bigip.endpoint(virtual), 20) as sock,
              clients.trusting().wrap_socket(sock, server_hostname=host) as tls):
            certificate = clients.common_name(tls.getpeercert(binary_form=True))
            tls.settimeout(2)
            if not (greeting := tls.recv(100).decode().strip()):
                return Met("reset", certificate)
            tls.settimeout(20)
            tls.sendall(b"\x00 no request\r\n\r\n")
            assert json.loads(tls.recv(1000).splitlines()[0])["namespace"] == greeting
            return Met(greeting, certificate)
    except TimeoutError:
        return Met("silent", certificate)
    except (ConnectionError, ssl.SSLError):
        return Met("reset", certificate)

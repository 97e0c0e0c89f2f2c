"""Short ways to make the objects that tests talk about."""

import datetime
import functools
import ipaddress
from dataclasses import dataclass, field, replace

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from f5router.admission.admission import AdmissionPolicy
from f5router.admission.route_options import Allowed
from f5router.model import names
from f5router.model.client_tls import TLSFiles, TLSSettings
from f5router.model.cluster import (
    TLS_SECRET,
    ClusterNetwork,
    EndpointPort,
    EndpointSlice,
    HostSubnet,
    Key,
    Node,
    Origin,
    Route,
    RouteTLS,
    Secret,
    Service,
    ServicePort,
)
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.http_edge import HTTPEdge, UniqueID
from f5router.model.route_options import BalancingDefaults
from f5router.model.virtual_server import FrontEnd, FrontEndSet
from f5router.network.node_ports import NodePortConfig
from f5router.network.vxlan import VxlanConfig
from tests.reference.full_build import ClusterSnapshot

EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Settings:
    """The part of config.Config that desired.py uses."""

    folder: str = "/Common"
    http_virtual: str | None = "/Common/ose-vserver"
    https_virtual: str | None = "/Common/https-ose-vserver"
    front_end: str = ""
    front_ends: tuple[FrontEnd, ...] = ()
    further_front_ends: tuple[FrontEnd, ...] = ()
    pool_monitor: str = "/Common/tcp"
    check_interval_s: int = 0
    tls_checks: bool = False
    cookie_name: str = ""
    edge: HTTPEdge = field(default_factory=HTTPEdge)
    forwarded_headers: str = "append"
    request_actions: tuple[str, ...] = ()
    response_actions: tuple[str, ...] = ()
    unique_id: UniqueID | None = None
    proxy_protocol: bool = False
    default_destination_ca: str = ""
    client_tls: TLSSettings = field(default_factory=TLSSettings)
    strict_sni: bool = False
    tls_files: TLSFiles = field(default_factory=TLSFiles)
    unverified_pods: bool = True
    allowed_profiles: Allowed = field(default_factory=dict, hash=False)
    admission: AdmissionPolicy = field(default_factory=AdmissionPolicy)
    vxlan: tuple[VxlanConfig, ...] = ()
    manage_snat: bool = False
    static_routes: bool = False
    static_route_networks: tuple[str, ...] = ()
    closes_hosts: bool = False
    serves_gateways: bool = False
    nodeport: NodePortConfig | None = None
    max_pool_members: int = 1000
    unavailable_page: bool = True
    balancing: BalancingDefaults = field(default_factory=BalancingDefaults)

    def of_front_end(self, front_end: FrontEnd) -> "Settings":
        """Return the settings for the objects of a further front end."""
        return replace(self, http_virtual=front_end.http, https_virtual=front_end.https,
                       front_end=front_end.name, front_ends=(front_end,) if front_end.addresses else (),
                       further_front_ends=())

    def with_front_ends(self, front_ends: FrontEndSet) -> "Settings":
        """The same settings with other front ends."""
        return replace(self, front_ends=front_ends.own, further_front_ends=front_ends.further)

    def with_default_destination_ca(self, certificates: str) -> "Settings":
        """The same settings with another CA."""
        return replace(self, default_destination_ca=certificates)


FACTS = DeviceFacts(
    (14, 1, 2),
    http=VirtualFacts("/Common/ose-vserver", port=80),
    https=VirtualFacts(
        "/Common/https-ose-vserver",
        port=443,
        client_ssl=("/Common/clientssl",),
        sni_defaults=("/Common/clientssl",),
    ),
)


def route(
    name: str,
    *,
    host: str = "www.example.com",
    namespace: str = "shop",
    path: str = "",
    service: str = "web",
    port: str = "",
    kind: str = "",
    insecure: str = "",
    age: int = 0,
    wildcard: bool = False,
    **tls,
) -> Route:
    """A Route; kind is its termination, age the second of its creation, tls more of spec.tls."""
    return Route(
        Key(namespace, name),
        uid=f"uid-{namespace}-{name}",
        created=f"2026-01-01T00:{age // 60:02}:{age % 60:02}Z",
        host=host,
        path=path,
        service=service,
        target_port=port,
        tls=RouteTLS(kind, insecure, **tls) if kind else None,
        wildcard_policy="Subdomain" if wildcard else "None",
    )


def virtual(plain: Route, kind: str = "Ingress", *, root: Key | None = None, **changes) -> Route:
    """A virtual Route of an object with the name of a Route.

    Args: root: the object that claims its Host, where it is another one.
    """
    name = names.virtual_route(kind, plain.key.name, "")
    origin = Origin(kind, plain.key, "spec.rules[0].http.paths[0]", "spec.rules[0].host", root)
    return replace(plain, key=Key(plain.key.namespace, name), origin=origin, **changes)


def service(
    name: str = "web", *, namespace: str = "shop", ports: tuple = (("http", 8080),), node_port: int = 0,
    **more,
) -> Service:
    """A Service with TCP ports; node_port is the first one's, the others' follow."""
    listed = enumerate(ports)
    return Service(Key(namespace, name), tuple(
        ServicePort(n, p, target_port=str(p), node_port=node_port + count if node_port else 0)
        for count, (n, p) in listed), **more)


def endpoints(
    *addresses: str,
    service: str = "web",
    namespace: str = "shop",
    name: str = "",
    ports: tuple = (("http", 8080),),
    protocol: str = "TCP",
    nodes: tuple[str, ...] = (),
) -> EndpointSlice:
    """An EndpointSlice of ready addresses, or with node ports of the Nodes that have some."""
    return EndpointSlice(
        Key(namespace, name or f"{service}-1"),
        service,
        frozenset(addresses),
        tuple(EndpointPort(n, p, protocol) for n, p in ports),
        frozenset(nodes),
    )


def node(name: str, *addresses: str, ready: bool = True, age: int = 0, **more) -> Node:
    """A Node with addresses of type InternalIP; age is the second of its creation."""
    return Node(Key("", name), uid=f"uid-{name}", internal_ips=addresses, ready=ready,
                created=f"2026-01-01T00:00:{age:02}Z", **more)


def host_subnet(name: str, host_ip: str, subnet: str = "10.129.0.0/23") -> HostSubnet:
    """A HostSubnet; of a Node, or a ghost."""
    return HostSubnet(Key("", name), host_ip, subnet)


def cluster_network(port: int = 4789) -> ClusterNetwork:
    """The ClusterNetwork."""
    return ClusterNetwork(Key("", "default"), ("10.128.0.0/14",), port)


def secret(namespace: str = "shop", identity: "Identity | None" = None, *, name: str = "tls",
           type: str = TLS_SECRET, authorities: str = "", problem: str = "",
           not_loaded: bool = False) -> Secret:
    """A Secret as decode.secret gives it."""
    return Secret(Key(namespace, name), type, *(
        (identity.certificate, identity.key) if identity else ()), authorities=authorities,
        problem=problem, not_loaded=not_loaded)


def snapshot(*objects) -> ClusterSnapshot:
    """A cluster that holds these objects."""
    slices: dict = {}
    for obj in objects:
        if isinstance(obj, EndpointSlice):
            slices.setdefault(Key(obj.key.namespace, obj.service), {})[obj.key] = obj
    return ClusterSnapshot(
        routes={o.key: o for o in objects if isinstance(o, Route)},
        services={o.key: o for o in objects if isinstance(o, Service)},
        slices=slices,
        nodes={o.key: o for o in objects if isinstance(o, Node)},
        host_subnets={o.key: o for o in objects if isinstance(o, HostSubnet)},
        secrets={o.key: o for o in objects if isinstance(o, Secret)},
    )


@dataclass(frozen=True)
class Identity:
    """A certificate with its key, in PEM."""

    certificate: str
    key: str
    issuer: str = ""
    """Certificate of the CA."""

    @property
    def tls(self) -> dict[str, str]:
        """As keywords of `route`."""
        return {"certificate": self.certificate, "key": self.key}


@functools.cache
def authority(name: str = "Example CA") -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A CA; made once per name."""
    key = ec.generate_private_key(ec.SECP256R1())
    return signed(name, key.public_key(), name, key, ca=True), key


@functools.cache
def identity(
    host: str = "www.example.com",
    *,
    ca: str = "Example CA",
    serial: int = 0,
    algorithm: str = "ec",
    expired: bool = False,
    days: int | None = None,
    more: tuple[str, ...] = (),
) -> Identity:
    """Return a certificate for a host, issued by a CA; another serial gives another key and certificate.

    Args:
        algorithm: ec, or rsa, whose handshakes take longer and whose key is the same for all hosts.
        days: time from now to its end; None for one that is valid for years.
        more: further hosts.
    """
    issuer, issuer_key = authority(ca)
    key = _rsa_key(serial) if algorithm == "rsa" else ec.generate_private_key(ec.SECP256R1())
    cert = signed(host, key.public_key(), ca, issuer_key, expired=expired, days=days, more=more)
    return Identity(
        _pem(cert),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        _pem(issuer),
    )


@functools.cache
def _rsa_key(serial: int) -> rsa.RSAPrivateKey:
    """Make a key, which takes 50 ms to half a second: modules do so while they are imported."""
    return rsa.generate_private_key(65537, 2048)


def _pem(cert: x509.Certificate) -> str:
    return cert.public_bytes(serialization.Encoding.PEM).decode()


def _general_name(name: str) -> x509.GeneralName:
    """An address, or a DNS name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def signed(name: str, public, issuer: str, issuer_key, *, ca: bool = False, expired: bool = False,
           days: int | None = None, more: tuple[str, ...] = ()):
    begin = EPOCH - datetime.timedelta(days=1000 if expired else 1)
    end = EPOCH - datetime.timedelta(days=500) if expired else EPOCH + datetime.timedelta(days=3650)
    if days is not None:
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectAlternativeName(list(map(_general_name, (name, *more)))), critical=False)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        # What RFC 5280 asks for and Python 3.13 checks.
        .add_extension(x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=not ca,
            data_encipherment=False, key_agreement=False, key_cert_sign=ca, crl_sign=ca, encipher_only=False,
            decipher_only=False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )

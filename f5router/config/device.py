"""Settings of the BIG-IP: its connection, SSH, where the router's objects are, and its way to the pods."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from f5router.config import files, parsers, placement
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.icontrol.settings import ClientSettings, Login, SSHSettings
from f5router.model import route_options
from f5router.model.front_end_names import TCP_SERVER
from f5router.model.virtual_server import FACTORY, FrontEnd, FrontEndLimits
from f5router.network import node_ports
from f5router.network.vxlan import VxlanConfig
from f5router.sources.settings import NO_FRONT_END

MAX_RETRY_S = 30.0
"""Longest time of one repeated read of the BIG-IP."""

GATEWAY_ADDRESSES = "gateway-addresses"
"""Option with the addresses of Gateways."""


@dataclass(frozen=True, slots=True)
class BigIPPaths:
    """Files with the login and the authorities of the BIG-IP; "" for none."""

    username: str = ""
    password: str = ""
    ca_bundle: str = ""

    def login(self, read_file: Callable[[str], str], before: Login) -> Login:
        """Read the login. Args: before: has what is in no file. Raises: OSError; ValueError."""
        def value(name: str, path: str, otherwise: str) -> str:
            if not path:
                return otherwise
            try:
                return str(files.parsed(name, read_file(path)))
            except files.FileProblem as exc:
                raise files.FileProblem(f"{path!r}: {exc}") from None
        return Login(value("f5-username", self.username, before.username),
                     value("f5-password", self.password, before.password))


def hosts(reader: Reader) -> tuple[parsers.Host, ...]:
    """Return the hosts of the BIG-IP's units; an unreachable host after a problem."""
    files.check_directory(reader, "f5-credentials-dir")
    hosts, _ = files.sourced(
        reader, "the BIG-IP's management address", "f5-host", {"f5-credentials-dir": "url"})
    return hosts if isinstance(hosts, tuple) else (parsers.Host("bigip.invalid", "bigip.invalid"),)


def bigip(reader: Reader, host: parsers.Host) -> tuple[ClientSettings, BigIPPaths]:
    """Return the settings of the connection, and where those are that may change."""
    username, username_path = files.sourced(
        reader, "the user name", "f5-username", {"f5-username-file": "", "f5-credentials-dir": "username"})
    password, password_path = files.sourced(
        reader, "the password", "f5-password", {"f5-password-file": "", "f5-credentials-dir": "password"})
    verify: bool | str = True
    bundle = reader.text("f5-ca-bundle")
    if bundle and files.certificates(reader, "f5-ca-bundle"):
        verify = bundle
    if reader.value("f5-insecure"):
        verify = False
        reader.warn("the BIG-IP's certificate is not verified", "f5-insecure")
        if bundle:
            reader.warn("not used, because nothing is verified", "f5-ca-bundle")
    timeout_s = reader.value("f5-timeout")
    settings = ClientSettings(
        base_url=f"https://{host.netloc}", username=username, password=password,
        verify=verify, auth=reader.value("f5-auth"),
        connect_timeout_s=reader.value("f5-connect-timeout"), timeout_s=timeout_s,
        max_in_flight=reader.value("f5-max-in-flight"), retry_s=min(MAX_RETRY_S, timeout_s),
        login_from=f"{username_path or '--f5-username'} and {password_path or '--f5-password'}",
    )
    return settings, BigIPPaths(username_path, password_path, verify if isinstance(verify, str) else "")


def upload(reader: Reader, host: parsers.Host, bigip: ClientSettings) -> tuple[SSHSettings, str]:
    """Return the settings of SSH, and "ssh" or "rest"."""
    how = reader.value("cert-upload")
    key = files.private_key(reader)
    if how == "ssh" and key is None:
        reader.problem("ssh needs a private key, and there is none", "cert-upload", "f5-private-key")
    if how == "auto":
        how = "ssh" if key else "rest"
    known_hosts = reader.text("f5-ssh-known-hosts")
    if known_hosts:
        reader.read("f5-ssh-known-hosts")
    ssh = SSHSettings(
        host=host.bare, port=reader.value("f5-ssh-port"), username=bigip.username, private_key=key,
        known_hosts=known_hosts or None, host_key_fingerprint=reader.value("f5-ssh-host-key") or None,
        insecure_host_key=reader.value("f5-ssh-insecure"), connect_timeout_s=bigip.connect_timeout_s,
    )
    if how == "ssh" and ssh.insecure_host_key:
        reader.warn("the BIG-IP's SSH host key is not verified", "f5-ssh-insecure")
    elif how == "ssh" and not (ssh.host_key_fingerprint or known_hosts):
        reader.warn("neither is set: certificates cannot be copied, because no SSH host key is accepted",
                    "f5-ssh-host-key", "f5-ssh-known-hosts")
    return ssh, how


def places(reader: Reader) -> tuple[str, str | None, str | None]:
    """Return folder and full paths of both virtual servers."""
    folder = reader.value("f5-partition-path")
    if not folder:
        folder = OPTIONS["f5-partition-path"].default
        reader.warn(f"it is empty; using {folder}", "f5-partition-path")
    names = ("f5-http-vserver", "f5-https-vserver")
    bare = [reader.value(name) for name in names]
    if not any(bare) and not reader.text(GATEWAY_ADDRESSES):
        reader.problem("F5 HTTP and HTTPS vservers cannot both be blank", *names)
    for name, virtual, scheme in zip(names, bare, ("HTTP", "HTTPS"), strict=True):
        if not virtual:
            reader.warn(f"it is blank; nothing is served over {scheme}", name)
    http_virtual, https_virtual = (f"{folder}/{virtual}" if virtual else None for virtual in bare)
    return folder, http_virtual, https_virtual


def front_ends(reader: Reader, http: str | None, https: str | None) -> tuple[FrontEnd, ...]:
    """Return the front ends that the router creates; () for none.

    Args: http, https: full paths of the virtual servers of the first address.
    """
    addresses = reader.value("f5-vserver-address")
    ports = {name: reader.value(name) for name in ("service-http-port", "service-https-port")}
    limits, translation = _limits(reader), reader.value("f5-vserver-snat")
    around = placement.load(reader, (http or https or "/Common").rpartition("/")[0])
    if not addresses:
        for name, place in {**_SET_BY_HAND, **placement.SET_BY_HAND}.items():
            if reader.text(GATEWAY_ADDRESSES) and "port" not in name:
                continue  # it is that of the virtual servers of Gateways
            if reader.is_set(name) and reader.text(name) != OPTIONS[name].default:
                reader.warn(f"has no effect without --f5-vserver-address; on the BIG-IP, set {place}", name)
        return ()
    if http and https and len(set(ports.values())) == 1:
        reader.problem("HTTP and HTTPS cannot have one port", *ports)
    http_port, https_port = ports.values()
    return (FrontEnd(addresses, http, https, http_port, https_port, limits, translation, around),)


def template(reader: Reader, folder: str) -> FrontEnd:
    """Return the settings of the front ends of Gateways, without name and addresses."""
    return NO_FRONT_END if not reader.text(GATEWAY_ADDRESSES) else FrontEnd(
        (), http=f"{folder}/openshift_http", https=f"{folder}/openshift_https",
        tcp=f"{folder}/{TCP_SERVER}", limits=_limits(reader),
        translation=reader.value("f5-vserver-snat"), placement=placement.load(reader, folder))


_SET_BY_HAND = {
    "service-http-port": "destination of the HTTP virtual server",
    "service-https-port": "destination of the HTTPS virtual server",
    "f5-vserver-snat": "source-address-translation of both virtual servers",
    "max-connections": "connection-limit of both virtual servers",
    "client-fin-timeout": "fin-wait-timeout, fin-wait-2-timeout and close-wait-timeout of the client-side "
                          "TCP profile",
    "default-server-fin-timeout": "fin-wait-timeout, fin-wait-2-timeout and close-wait-timeout of the "
                                  "server-side TCP profile",
    "buf-size": "enforcement max-header-size of the HTTP profile",
    "max-rewrite-size": "enforcement max-header-size of the HTTP profile",
    "max-header-count": "enforcement max-header-count of the HTTP profile",
    "default-client-timeout": "idle-timeout of the client-side TCP profile",
    "default-server-timeout": "idle-timeout of the server-side TCP profile",
    "default-tunnel-timeout": "idle-timeout of the client-side and of the server-side TCP profile",
    "slowloris-http-keepalive": "idle-timeout of the client-side TCP profile",
    "slowloris-timeout": "idle-timeout of the client-side TCP profile",
    "inspect-delay": "idle-timeout of the client-side TCP profile",
    "default-connect-timeout": "syn-max-retrans and syn-rto-base of the server-side TCP profile",
    "repair-disabled": "enabled of the virtual server",
}
"""Setting to what an administrator who has created the virtual servers sets instead."""

BUFFER_BYTES, REWRITE_BYTES = 32768, 8192
"""Defaults if one of both is set. Source: openshift/router, haproxy-config.template: tune.bufsize and
tune.maxrewrite."""


def _limits(reader: Reader) -> FrontEndLimits:
    buffer, rewrite = reader.value("buf-size"), reader.value("max-rewrite-size")
    connect_ms = reader.value("default-connect-timeout")
    header_bytes = FACTORY.header_bytes
    if buffer or rewrite:
        header_bytes = (buffer or BUFFER_BYTES) - (rewrite or REWRITE_BYTES)
        if header_bytes < LEAST_HEADER_BYTES:
            reader.problem(f"they leave {header_bytes} bytes for the headers of a request, less than "
                           f"{LEAST_HEADER_BYTES}", "buf-size", "max-rewrite-size")
    return FrontEndLimits(
        connections=reader.value("max-connections"), client_fin_s=reader.value("client-fin-timeout") or 0,
        server_fin_s=reader.value("default-server-fin-timeout") or 0,
        client_idle_s=reader.value("default-client-timeout") or FACTORY.client_idle_s,
        connect_ms=connect_ms or FACTORY.connect_ms, queue_ms=connect_ms or FACTORY.queue_ms,
        header_bytes=header_bytes, header_count=reader.value("max-header-count"),
        head_ms=reader.value("slowloris-timeout") or 0, hello_ms=reader.value("inspect-delay") or 0,
        response_s=reader.value("default-server-timeout") or 0,
        tunnel_s=reader.value("default-tunnel-timeout") or 0,
        keep_alive_s=reader.value("slowloris-http-keepalive") or 0)


LEAST_HEADER_BYTES = 4096
"""Headers that browsers send with some cookies."""


def node_partition(reader: Reader, folder: str) -> str | None:
    """Source: mcpd's 01070726; a pool refers to objects of its own partition and of /Common only."""
    wanted, own = reader.value("f5-node-partition"), "/" + folder.split("/")[1]
    if wanted and wanted not in ("/Common", own):
        allowed = own if own == "/Common" else f"/Common or {own}"
        reader.problem(f"a pool in {own} cannot have LTM nodes in {wanted}; set {allowed}",
                       "f5-node-partition")
    return wanted or None


_VXLAN = ("f5-internal-address", "f5-vxlan-gateway-cidr")
_ROUTES, _NODE_NETWORKS = "f5-static-routes", "static-route-node-networks"
_MEMBERS, _SELECTOR, _EXCLUDE = "pool-member-type", "node-label-selector", "nodeport-exclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNetwork:
    """Fields of Config for the way to the pods."""

    vxlan: tuple[VxlanConfig, ...]
    """For each unit of the BIG-IP; empty: pods are reached in another way."""
    manage_snat: bool
    static_routes: bool
    static_route_networks: tuple[str, ...]
    """CIDRs in which the Nodes' addresses lie that are gateways; () for the networks of the self IPs."""
    nodeport: node_ports.NodePortConfig | None
    max_pool_members: int
    """None: pods are the pool members, not Nodes."""


def load_pod_network(reader: Reader, *, units: int) -> dict[str, Any]:
    """Return the fields of PodNetwork, as far as the settings are right; the reader has what is wrong.

    Args: units: number of the BIG-IP's units.
    """
    vxlan, manage_snat = _vxlan(reader, units)
    static_routes = reader.value(_ROUTES)
    if static_routes and any(reader.text(name) for name in _VXLAN):
        reader.problem("pods are reached by static routes or by VxLAN, not by both", _ROUTES, *_VXLAN)
    if not static_routes and reader.text(_NODE_NETWORKS):
        reader.warn(f"not used: it is part of --{_ROUTES}", _NODE_NETWORKS)
    return {"vxlan": vxlan, "manage_snat": manage_snat, "static_routes": static_routes,
            "static_route_networks": reader.value(_NODE_NETWORKS) or (),
            "nodeport": _nodeport(reader, static_routes),
            "max_pool_members": reader.value("max-pool-members")}


def _nodeport(reader: Reader, static_routes: bool) -> node_ports.NodePortConfig | None:
    """Return the settings of node ports; None where pods are the pool members."""
    selector, exclude = reader.value(_SELECTOR), reader.value(_EXCLUDE)
    if reader.value(_MEMBERS) != "nodeport":
        for name in (_SELECTOR, _EXCLUDE):
            if reader.text(name):
                reader.warn(f"not used: it is part of --{_MEMBERS}=nodeport", name)
        return None
    others = [name for name in _VXLAN if reader.text(name)] + ([_ROUTES] if static_routes else [])
    if others:
        reader.problem("with node ports pods are not addressed, so no way to them is made", _MEMBERS, *others)
    return node_ports.NodePortConfig(selector, exclude or ())


def _vxlan(reader: Reader, units: int) -> tuple[tuple[VxlanConfig, ...], bool]:
    """Return both addresses of each unit or none, and f5-manage-snat. Source: openshift/origin v3.11.0,
    pkg/cmd/infra/router/f5.go: F5Router.Validate, its fifth check."""
    manage_snat = reader.value("f5-manage-snat")
    addresses, gateways = (reader.value(name) for name in _VXLAN)
    given = [bool(reader.text(name)) for name in _VXLAN]
    if given[0] != given[1]:
        reader.problem("For VxLAN setup, both internal-address and gateway-cidr must be specified", *_VXLAN)
    if not any(given) and manage_snat:
        reader.warn("not used: it is part of VxLAN, which is not configured", "f5-manage-snat")
    if not (addresses and gateways):
        return (), manage_snat
    if not len(addresses) == len(gateways) == units:
        reader.problem(f"each of the {units} units of --f5-host has an address and a gateway of its own, "
                       "with a HostSubnet: give as many of both, separated by commas, in the same order"
                       if units > 1 else "there are more than one, and one address in --f5-host", *_VXLAN)
        return (), manage_snat
    if set(addresses) & {gateway.partition("/")[0] for gateway in gateways}:
        reader.problem("they are the same address: one is of the Nodes' network, one of the pods'", *_VXLAN)
    return tuple(map(VxlanConfig, addresses, gateways)), manage_snat


def check_interval_s(reader: Reader) -> int:
    """Return the interval of the router's own monitor; 0 for none. It leaves no other monitor to a pool."""
    interval_s: int = route_options.interval_s(reader.value("backend-check-interval") or 0)
    chosen = OPTIONS["f5-pool-monitor"].default
    if interval_s and reader.text("f5-pool-monitor") != chosen:
        reader.problem("the interval is for a monitor that the router creates, which would replace the "
                       "chosen one: set the interval in the chosen monitor instead",
                       "backend-check-interval", "f5-pool-monitor")
    return interval_s

"""Config from flags and environment, checked once; all problems are reported together.

Precedence: flag, then environment variable, then default. An empty variable counts as not set;
an empty flag is a value (openshift/origin v3.11.0, pkg/cmd/util: Env). Nothing but files is read here.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from f5router.admission import admission
from f5router.admission.route_options import Allowed
from f5router.config import (
    client_settings,
    cluster_settings,
    device,
    files,
    front_ends_file,
    ignored_variables,
    parsers,
)
from f5router.config.device import BigIPPaths
from f5router.config.front_ends_file import FrontEnds
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.config.tls_files import TLS, TLSPaths, load_metrics_login, load_metrics_tls, load_tls_files
from f5router.icontrol.settings import ClientSettings, SSHSettings
from f5router.kube.settings import KubeSettings, LeaseSettings, SecretLimits, StatusSettings, WatchSettings
from f5router.model import route_options
from f5router.model.client_tls import TLSFiles, TLSSettings
from f5router.model.errors import ConfigError
from f5router.model.gateway import GATEWAY
from f5router.model.http_edge import HTTPEdge, UniqueID
from f5router.model.selection import Selection
from f5router.model.virtual_server import FrontEnd, FrontEndServer, FrontEndSet, listeners

HIDDEN = "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(device.PodNetwork):
    """Configuration of the router: all settings, checked. docs/configuration.md explains them."""

    hosts: tuple[parsers.Host, ...]
    """Management addresses: of one BIG-IP, or of the units of a pair."""
    bigip: ClientSettings
    """Connection to the first of them; only the address of the others differs."""
    bigip_paths: BigIPPaths
    """Where the login and the authorities are read again."""
    ssh: SSHSettings
    """How certificate files are copied where cert_upload is "ssh"; likewise."""
    kube: KubeSettings
    cert_upload: str
    """"ssh" or "rest"; never "auto"."""
    folder: str
    """Full path, "/Common" or "/OpenShift/zone1"."""
    node_partition: str | None
    """"/Common"; None: LTM nodes come with the members, in the partition of the pools."""
    http_virtual: str | None
    """Full path, or None when there is none; so for HTTPS."""
    https_virtual: str | None
    front_end: str
    """Whose settings these are; "" for the front end whose objects have no name of one in theirs."""
    front_ends: tuple[FrontEnd, ...]
    """Virtual servers that the router creates; () for none: an administrator has created them."""
    further_front_ends: tuple[FrontEnd, ...]
    """The front ends besides that of these settings."""
    front_end_statuses: tuple[tuple[str, StatusSettings], ...]
    """Settings of the statuses of Routes by front end, where there are several."""
    repair_disabled: bool
    """True if one that somebody has disabled is enabled again."""
    pool_monitor: str
    """As the device reads it back: "/Common/tcp", "/Common/a and /Common/b",
    "min 1 of { /Common/http /Common/https }"; "" for none."""
    check_interval_s: int
    """Interval of the router's own monitor; 0: pools have `pool_monitor`."""
    tls_checks: bool
    """True if health checks verify the pods of re-encrypt Routes."""
    default_destination_ca: str = field(repr=False)
    """Certificates in PEM; "" for none."""
    allowed_profiles: Allowed
    """Server SSL profiles of the administrator that Routes may name."""
    client_tls: TLSSettings
    strict_sni: bool
    """True if a client with a server name that no certificate has is refused."""
    tls_files: TLSFiles
    tls_paths: TLSPaths
    """The administrator's files for TLS towards clients: their content at the start, and where it is read."""
    destination_ca_path: str
    """File of these certificates, which may be renewed; "" for none."""
    unverified_pods: bool
    """True if pods of Routes without any CA may be anybody."""
    unavailable_page: bool
    """Answer 503 where nothing can answer."""
    balancing: route_options.BalancingDefaults
    cookie_name: str
    """Name of session cookies; "" for a hash of the pool's name."""
    edge: HTTPEdge
    forwarded_headers: str
    """"append", "replace", "if-none" or "never"."""
    request_actions: tuple[str, ...]
    """Actions on the headers of all requests, each as header_actions encodes it."""
    response_actions: tuple[str, ...]
    unique_id: UniqueID | None
    """The header with the ID of each request; None for none."""
    proxy_protocol: bool
    """True if connections begin with a header of the PROXY protocol."""
    allow_mass_delete: bool
    """Hold no deletes back, however many."""
    save_config: bool
    config_sync: str
    """"off", "check" or "push"."""
    drift_interval_s: float
    """Seconds between looks at names and generations of the BIG-IP's objects."""
    drift_interval_adapts: bool
    """True if they may be rarer where they cost much: nobody has set the interval."""
    statistics_interval_s: float
    statistics_pools: int
    statistics_members: int
    observe_interval_s: float
    """Seconds between full reads of the BIG-IP's objects."""
    observe_interval_adapts: bool  # they may be rarer where they cost much
    hold_off_s: float
    hold_off_limit_s: float
    resync_s: float
    """Seconds between full lists of the cluster's objects."""
    status: StatusSettings
    watch: WatchSettings
    admission: admission.AdmissionPolicy
    lease: LeaseSettings | None
    """The Lease by which replicas elect a leader; None without replicas."""
    log_level: str
    log_format: str
    """One of parsers.LOG_LEVELS, and "text" or "json"."""
    listen: parsers.Address | None
    """Where metrics and health are served; None: nowhere."""
    metrics_login: tuple[str, str] | None = field(repr=False)
    """User name and password for the metrics; None: everybody may read them."""
    metrics_tls: TLS | None
    """None: metrics and health are served over HTTP only."""
    reload_front_ends: front_ends_file.Reload | None = field(default=None, repr=False, compare=False)
    """Reads the file of front ends again; None without one."""
    again: Callable[[], "Config"] | None = field(default=None, repr=False, compare=False)
    """Loads the same settings, whose files are read anew. Raises: ConfigError."""
    warnings: tuple[str, ...] = ()
    """One sentence each, to be logged at start."""

    @property
    def listeners(self) -> tuple[FrontEndServer, ...]:
        """The virtual servers that the router creates, of all front ends."""
        return listeners((*self.front_ends, *self.further_front_ends))

    @property
    def all_front_ends(self) -> FrontEnds:
        """The front ends as they are at start."""
        own, further = self.front_ends, self.further_front_ends
        return FrontEnds(own, further, self.watch.front_ends, self.front_end_statuses)

    @property
    def route_statuses(self) -> dict[str, StatusSettings]:
        """Settings of the statuses of Routes, by front end."""
        return dict(self.front_end_statuses) or {"": self.status}

    @property
    def closes_hosts(self) -> bool:
        """True if an Ingress or a Gateway may get the requests for hosts that nobody claims."""
        return self.serves_gateways or bool(self.watch.sources.ingresses.default_backend_namespaces)

    @property
    def serves_gateways(self) -> bool:
        """True if HTTPRoutes are served, whose options may answer in place of pods."""
        return GATEWAY in self.watch.sources.kinds

    @property
    def partition(self) -> str:
        """First component of the folder: "Common"."""
        return self.folder.split("/")[1]

    @property
    def bigip_names(self) -> str:
        """Management addresses, for messages."""
        return ", ".join(host.netloc for host in self.hosts)

    def unit_settings(self, number: int) -> tuple[ClientSettings, SSHSettings]:
        """Return the settings of the connections to one unit, counted from 0."""
        host = self.hosts[number]
        return (replace(self.bigip, base_url=f"https://{host.netloc}"), replace(self.ssh, host=host.bare))

    @property
    def cleans(self) -> bool:
        """True if Routes can leave the selection while they exist, and their status is then cleaned."""
        return self.status.enabled and self.status.clean and (
            self.watch.selection.selective or any(each.is_selective for each in self.watch.front_ends))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no log may show: the passwords, plain and in an Authorization header."""
        logins = [(self.bigip.username, self.bigip.password)]
        logins += [self.metrics_login] if self.metrics_login else []
        pairs = [base64.b64encode(":".join(login).encode()).decode() for login in logins]
        return (*(password for _, password in logins), *pairs)

    def of_front_end(self, front_end: FrontEnd) -> Self:
        """Return the settings for the objects of a further front end."""
        return replace(self, http_virtual=front_end.http, https_virtual=front_end.https,
                       front_end=front_end.name, front_ends=(front_end,) if front_end.addresses else (),
                       further_front_ends=(), client_tls=self.client_tls.with_clients(front_end.validation))

    def with_front_ends(self, front_ends: FrontEndSet) -> Self:
        """Return the settings with other front ends."""
        return replace(self, front_ends=front_ends.own, further_front_ends=front_ends.further)

    def with_default_destination_ca(self, certificates: str) -> Self:
        """Return the settings with another default CA for pods."""
        return replace(self, default_destination_ca=certificates)

    def redacted(self) -> dict[str, Any]:
        """Shape: field to value, groups as dicts; for the log. Without password and warnings."""
        shown = asdict(self)
        del shown["warnings"], shown["reload_front_ends"], shown["again"]
        shown["hosts"] = [host.netloc for host in self.hosts]
        shown["bigip"]["host"] = self.bigip.host
        shown["bigip"]["password"] = HIDDEN
        shown["metrics_login"] = HIDDEN if self.metrics_login else None
        count = self.default_destination_ca.count("BEGIN CERTIFICATE")
        shown["default_destination_ca"] = f"{count} certificates" if count else ""
        pages = (("unavailable", self.edge.unavailable), ("not_found", self.edge.not_found))
        shown["edge"].update((name, f"{page.status}, {len(page.body)} bytes" if page else None)
                             for name, page in pages)
        shown["tls_files"] = {"default_certificate": HIDDEN if self.tls_files.default_certificate else None,
                              "client_ca": self.tls_files.client_ca.count("BEGIN CERTIFICATE"),
                              "client_crl": self.tls_files.client_crl.count("BEGIN X509 CRL")}
        return shown


def read_text(path: str) -> str:
    """Read the text of a file. Raises: OSError; UnicodeDecodeError."""
    return Path(path).read_text(encoding="utf-8")


def load(flags: Mapping[str, str | None], environ: Mapping[str, str],
         read_file: Callable[[str], str] = read_text) -> Config:
    """Build the Config from flags and environment.

    Args:
        flags: text by Option.name; None, or no entry, where the flag was not given.
        read_file: text of a path; raises OSError, UnicodeDecodeError.
    Raises: ConfigError: with all problems, each beginning with flag and variable.
    """
    reader = Reader(flags, environ, read_file)
    config = _config(reader)
    if reader.problems:
        raise ConfigError(list(dict.fromkeys(reader.problems)))
    return replace(config, again=lambda: load(flags, environ, read_file))


def _config(reader: Reader) -> Config:
    """Return the Config as far as the settings are right; the reader has what is wrong."""
    hosts = device.hosts(reader)
    bigip, bigip_paths = device.bigip(reader, hosts[0])
    ssh, cert_upload = device.upload(reader, hosts[0], bigip)
    folder, http_virtual, https_virtual = device.places(reader)
    status = _status(reader)
    front_ends = front_ends_file.load(reader, folder, http_virtual, https_virtual, status)
    hold_off_s, hold_off_limit_s = _hold_off(reader)
    selection, admission_policy = cluster_settings.load_selection(reader), _admission(reader)
    files_of_tls, tls_paths = load_tls_files(reader)
    network, destination_ca = device.load_pod_network(reader, units=len(hosts)), files.destination_ca(reader)
    return Config(
        hosts=hosts, bigip=bigip, bigip_paths=bigip_paths, ssh=ssh, cert_upload=cert_upload,
        kube=kube_settings(reader, sdn=bool(network["vxlan"])),
        folder=folder, node_partition=device.node_partition(reader, folder),
        http_virtual=http_virtual, https_virtual=https_virtual, front_end="",
        front_ends=front_ends.own, further_front_ends=front_ends.further,
        front_end_statuses=front_ends.statuses, repair_disabled=reader.value("repair-disabled"),
        pool_monitor=reader.value("f5-pool-monitor"), check_interval_s=device.check_interval_s(reader),
        tls_checks=reader.value("tls-health-checks"),
        **network,
        client_tls=client_settings.load_tls(reader),
        strict_sni=client_settings.strict_sni(reader, files_of_tls), tls_files=files_of_tls,
        tls_paths=tls_paths,
        default_destination_ca=destination_ca.certificates, destination_ca_path=destination_ca.path,
        unverified_pods=destination_ca.unverified,
        allowed_profiles=reader.value("allowed-profiles") or {},
        unavailable_page=reader.value("f5-503-page"),
        balancing=route_options.BalancingDefaults(
            reader.value("load-balance-algorithm") or "", reader.value("tcp-balance-scheme") or "",
            cookies=not reader.value("disable-cookies")),
        cookie_name=reader.value("cookie-name") or "", edge=client_settings.load_http(reader),
        forwarded_headers=reader.value("set-forwarded-headers"),
        request_actions=reader.value("set-delete-http-request-header") or (),
        response_actions=reader.value("set-delete-http-response-header") or (),
        unique_id=client_settings.unique_id(reader), proxy_protocol=reader.value("use-proxy-protocol"),
        allow_mass_delete=reader.value("allow-mass-delete"),
        save_config=reader.value("f5-save-config"), config_sync=reader.value("f5-config-sync"),
        drift_interval_s=reader.value("f5-drift-interval"),
        drift_interval_adapts=not reader.is_set("f5-drift-interval"),
        statistics_interval_s=reader.value("f5-statistics-interval"),
        statistics_pools=reader.value("f5-statistics-pools"),
        statistics_members=reader.value("f5-statistics-members"),
        observe_interval_s=reader.value("f5-resync-interval"),
        observe_interval_adapts=not reader.is_set("f5-resync-interval"),
        hold_off_s=hold_off_s, hold_off_limit_s=hold_off_limit_s,
        resync_s=reader.value("resync-interval"),
        status=status,
        watch=_watch(reader, selection, network, admission_policy, front_ends, folder),
        admission=admission_policy, lease=cluster_settings.load_leader_election(reader),
        log_level=reader.value("log-level"), log_format=reader.value("log-format"),
        listen=_listen(reader), metrics_login=load_metrics_login(reader),
        metrics_tls=load_metrics_tls(reader),
        reload_front_ends=front_ends_file.reload(reader, folder, http_virtual, https_virtual, status),
        warnings=_remarks(reader),
    )


def _hold_off(reader: Reader) -> tuple[float, float]:
    hold_off_s, limit_s = reader.value("hold-off"), reader.value("hold-off-limit")
    if limit_s < hold_off_s:
        reader.problem("the limit is below the hold-off itself", "hold-off", "hold-off-limit")
    return hold_off_s, limit_s


def _status(reader: Reader) -> StatusSettings:
    name, enabled = reader.value("name"), reader.value("update-status")
    if enabled and not name:
        reader.problem("a name must be specified, because the status of Routes is written", "name")
    return StatusSettings(
        router_name=name, canonical_hostname=reader.value("router-canonical-hostname"), enabled=enabled,
        clean=reader.value("clean-status"), rate_per_s=reader.value("status-rate"),
    )


def _watch(reader: Reader, selection: Selection, network: Mapping[str, Any],
           policy: admission.AdmissionPolicy, front_ends: FrontEnds, folder: str) -> WatchSettings:
    """Return the settings of the watches: Nodes only if the way to the pods needs them."""
    vxlan, nodeport = bool(network["vxlan"]), network["nodeport"]
    sources = cluster_settings.load_sources(reader, ownership=policy.ownership)
    return WatchSettings(
        front_ends=front_ends.selections, selection=selection, front_end_set=front_ends.all,
        sources=cluster_settings.with_front_ends(
            sources, front_ends.all, reader.value(device.GATEWAY_ADDRESSES) or (),
            device.template(reader, folder)),
        nodes=vxlan or network["static_routes"], sdn=vxlan,
        nodeport=nodeport is not None, node_selector=nodeport.selector if nodeport else "",
        use_endpoints=reader.value("watch-endpoints"), secrets=policy.external,
        secret_limits=SecretLimits(
            per_namespace=reader.value("max-secrets-per-namespace"), total=reader.value("max-secrets")),
    )


def _admission(reader: Reader) -> admission.AdmissionPolicy:
    """Source of both problems: openshift/router, RouterSelection.Complete."""
    template = reader.value("hostname-template")
    override, domains = reader.value("override-hostname"), reader.value("override-domains")
    for name, given in (("override-hostname", override), ("override-domains", domains)):
        if given and not reader.text("hostname-template"):
            reader.problem("it requires a template", name, "hostname-template")
    return admission.AdmissionPolicy(
        ownership=not reader.value("disable-namespace-ownership-check"),
        naming=admission.Naming(
            domain=reader.value("router-domain"), template=template, override=override,
            override_domains=domains or frozenset(),
        ),
        allowed=reader.value("allowed-domains") or frozenset(),
        denied=reader.value("denied-domains") or frozenset(),
        wildcards=reader.value("allow-wildcard-routes"),
        waf_policies=reader.value("allowed-policies") or {},
        extended=reader.value("extended-validation"),
        external=reader.value("allow-external-certificates"),
    )


def _listen(reader: Reader) -> parsers.Address | None:
    """Return the address to listen on; an empty one is the default.

    Source: openshift/router, pkg/cmd/infra/router/template.go.
    """
    port = reader.value("stats-port")
    return reader.value("listen-addr") if reader.text("listen-addr") else parsers.Address("", port)


def kube_settings(reader: Reader, *, sdn: bool = True) -> KubeSettings:
    """Return the settings of the connection to the API server."""
    if reader.text("config"):
        reader.read("config")
    return KubeSettings(
        kubeconfig=reader.text("config") or None, context=reader.text("context") or None,
        master=reader.value("master") or None, sdn=sdn,
    )


def _remarks(reader: Reader) -> tuple[str, ...]:
    """Check the settings without a field in Config; returns all warnings."""
    reader.problems += ignored_variables.problems(reader.variable)
    known = [option.env for option in OPTIONS.values() if option.env]
    return (*reader.warnings, *ignored_variables.warnings(reader.variable, reader.from_flag),
            *ignored_variables.unknown(reader.variables(), known))

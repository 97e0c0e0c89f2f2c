"""Objects that the router always needs, whatever the Routes are: policies, iRules, data-groups.

Clients that ask for a server name for which there is no certificate are refused (strict SNI). Names with a
certificate are those of Hosts that bring one, those in the router's default certificate, and the
server names of the administrator's client SSL profiles. Without a default certificate of the router nothing
is refused: the names in the administrator's are not known. Nor is anything where the default certificate is
that of a Gateway's listener for all hosts. Source: openshift/router, haproxy-config.template
(strict-sni, with the default certificate among those of the frontend).
"""

import contextlib
from collections.abc import Iterator
from typing import Protocol

from cryptography import x509

from f5router.admission import pem
from f5router.desired import client_tls, edge, front_ends, irules, pool_options
from f5router.desired.irules.groups import own_irule
from f5router.model import hostnames, names, route_options, sni_records, tls_names, tmos
from f5router.model.client_tls import TLSFiles, TLSKeyPair
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.front_end_names import FrontEndPlace, own_path
from f5router.model.http_edge import ErrorPage, HTTPEdge
from f5router.model.ltm import (
    Attachment,
    DataGroup,
    Forward,
    IRule,
    Object,
    Policy,
    Pool,
    Record,
    ServerSSL,
    attachment_ref,
)
from f5router.model.objects import Ref
from f5router.model.texts import Findings
from f5router.model.virtual_server import listeners
from f5router.network import vxlan


class StrictSettings(FrontEndPlace, Protocol):
    """The part of config.Config that is used here."""

    @property
    def https_virtual(self) -> str | None: ...

    @property
    def strict_sni(self) -> bool:
        """True if a client with a server name that no certificate has is refused."""


def server_name_record(config: FrontEndPlace, host: str, *needs: Ref) -> Record:
    """Return the record of a name. Args: needs: what shows its certificate."""
    return Record(own_path(config, names.SERVER_NAME_GROUP), sni_records.name_of(host),
                  names.CERTIFICATE, frozenset(needs))


def build_server_names(config: StrictSettings, facts: DeviceFacts, files: TLSFiles) -> list[Object]:
    """Build the data-group, the records of names beyond the Hosts, and the record that refuses the rest."""
    virtual = config.https_virtual
    if not config.strict_sni or virtual is None:
        return []
    group = DataGroup(own_path(config, names.SERVER_NAME_GROUP))
    theirs = facts.https.server_names if facts.https else frozenset()
    records = {name: server_name_record(config, name) for name in theirs if _is_name(name)}
    if files.default_certificate is None or files.default_owner or files.awaits_default:
        return [group, *records.values()]
    default = attachment_ref(virtual, "profiles", own_path(config, tls_names.DEFAULT_CLIENTSSL))
    for name in _names(files.default_certificate):
        records.setdefault(name, server_name_record(config, name, default))
    irule = attachment_ref(virtual, "rules", own_path(config, names.PASSTHROUGH_IRULE))
    needs = {default, irule, *(each.ref for each in records.values())}
    return [group, *records.values(), Record(group.path, names.STRICT, names.STRICT_DATA, frozenset(needs))]


def _names(pair: TLSKeyPair) -> Iterator[str]:
    """Yield the names that a certificate is for: alternative names and common names, as HAProxy takes them.

    Source: HAProxy, src/ssl_sock.c: ssl_sock_load_ctx.
    """
    certificate = x509.load_pem_x509_certificate(pair.certificate.encode())
    texts = pem.common_names(certificate, "subject")
    with contextlib.suppress(pem.PEMError):  # an extension that cannot be read has no names
        if (extension := pem.extension(certificate, x509.SubjectAlternativeName)) is not None:
            texts += extension.get_values_for_type(x509.DNSName)
    yield from (name for name in dict.fromkeys(text.lower() for text in texts) if _is_name(name))


def _is_name(text: str) -> bool:
    return not hostnames.problem(text.removeprefix("*."))


PLAIN = "plain"
"""Data of a virtual server's record: its server SSL profile is ours (irules/reencrypt)."""


class BaselineSettings(vxlan.VxlanSettings, pool_options.PoolConfig, client_tls.ClientTLSSettings,
                       edge.HeaderSettings, StrictSettings, front_ends.FrontEndSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def http_virtual(self) -> str | None: ...

    @property
    def https_virtual(self) -> str | None: ...

    @property
    def unavailable_page(self) -> bool: ...

    @property
    def balancing(self) -> route_options.BalancingDefaults: ...

    @property
    def cookie_name(self) -> str:
        """Name of session cookies; "" for a hash of the pool's name."""

    @property
    def edge(self) -> HTTPEdge: ...

    @property
    def proxy_protocol(self) -> bool:
        """True if connections begin with a header of the PROXY protocol."""

    @property
    def tls_checks(self) -> bool:
        """True if health checks verify the pods of re-encrypt Routes."""


def build(config: BaselineSettings, facts: DeviceFacts, networks: vxlan.Networks,
          files: TLSFiles) -> dict[Ref, Object]:
    """Build the objects that the router needs whatever the Routes are."""
    if (tcp := front_ends.tcp_virtual(config)) is not None:
        return front_ends.complete({obj.ref: obj for obj in _of_tcp(config, tcp)}, config, facts)
    objects: list[Object] = [
        DataGroup(own_path(config, names.PASSTHROUGH_GROUP),
                  copied=facts.original.passthrough),
        DataGroup(own_path(config, names.REENCRYPT_GROUP)),
        DataGroup(own_path(config, names.PERSISTENCE_GROUP)),
    ]
    if config.check_interval_s:
        objects.append(pool_options.tcp_monitor(config.folder, config.check_interval_s))
    if config.http_virtual:
        objects += _policy(config, facts, names.INSECURE_POLICY, config.http_virtual)
        objects += _proxy(config, config.http_virtual)
    if config.https_virtual:
        objects += _policy(config, facts, names.SECURE_POLICY, config.https_virtual)
        objects += _passthrough(config, facts, config.https_virtual)
        owners = own_path(config, names.OWNER_GROUP)
        objects += [DataGroup(owners), Record(owners, names.OWNERS_KNOWN, names.OWNERS_KNOWN_DATA)]
    objects += client_tls.build(config, facts, files)
    objects += build_server_names(config, facts, files)
    objects += _request(config)
    if sets_pool_variable(facts):
        virtuals = [virtual for virtual in (config.http_virtual, config.https_virtual) if virtual]
        objects += pool_options.persistence_irule(config, virtuals,
                                                  https=config.https_virtual is not None)
    objects += edge.always(config, sets_variables=sets_pool_variable(facts))
    if config.unavailable_page:
        objects += _unavailable(config)
    if config.edge.not_found:
        objects += _not_found(config, config.edge.not_found)
    if front_ends.limits(config).are_timed:
        objects += timeouts(config)
    for virtual in (facts.http, facts.https):
        if virtual and virtual.encrypts:
            # A server SSL profile that is not ours would encrypt towards every pod.
            objects += pod_tls(config, virtual)
    objects += edge.compression_profiles(config, config.edge.compressed_types, facts)
    objects += vxlan.base(config, facts, networks)
    objects += _on_further_addresses(config, facts)
    if files.awaits_client_ca or files.awaits_default:
        objects = client_tls.beside_profile(config, objects)
    return front_ends.complete({obj.ref: obj for obj in objects}, config, facts)


def _of_tcp(config: BaselineSettings, virtual: str) -> list[Object]:
    """Build what a virtual server that carries TCP of any kind needs, besides its pool."""
    nowhere = Pool(names.full_path(config.folder, names.NOWHERE_POOL))
    checks = [pool_options.tcp_monitor(config.folder, config.check_interval_s)] if (
        config.check_interval_s) else []
    return [nowhere, *checks, *_proxy(config, virtual)]


def _proxy(config: BaselineSettings, virtual: str) -> list[Object]:
    """Build the iRule that removes headers of the PROXY protocol where clients speak no TLS, if they come."""
    if not config.proxy_protocol:
        return []
    path = own_path(config, names.PROXY_IRULE)
    return [IRule(path, irules.proxy_irule(config.folder)), Attachment(virtual, "rules", path, IRule.KIND)]


def _on_further_addresses(config: BaselineSettings, facts: DeviceFacts) -> list[Object]:
    """Build what Rules may need on the virtual servers of further addresses; see `front_ends`."""
    objects: list[Object] = []
    for listener in listeners(config.front_ends):
        if not listener.is_copy:
            continue
        known = next((each for each in facts.further if each.path == listener.virtual), None)
        objects += pod_tls(config, known or VirtualFacts(listener.virtual))
        objects += pool_options.limits_irule(config, listener.virtual)
        if sets_pool_variable(facts):
            objects += edge.headers_irule(config, listener.virtual, sets_variables=True)
    return objects


def _passthrough(config: BaselineSettings, facts: DeviceFacts, virtual: str) -> list[Object]:
    """Build the iRule that passes TLS through.

    The original router's iRule of this name also decides about TLS towards the pods: it stays as it is until
    the iRules are attached that do so from then on.
    """
    path = own_path(config, names.PASSTHROUGH_IRULE)
    required = {Ref(DataGroup.KIND, own_path(config, name))
                for name in (names.PASSTHROUGH_GROUP, names.PERSISTENCE_GROUP)}
    kept = _kept_tls(config, facts)
    if facts.original.irule:
        others = [names.REQUEST_IRULE]
        others += [names.REENCRYPT_IRULE] if facts.https and facts.https.encrypts else []
        required |= {attachment_ref(virtual, "rules", own_path(config, name))
                    for name in others}
        required |= {obj.ref for obj in kept}
    text = irules.passthrough_irule(config.folder, source=config.balancing.of("passthrough") == "source",
                                    proxied=config.proxy_protocol, strict=config.strict_sni,
                                    any_depth=any(each.any_depth for each in config.front_ends))
    if config.strict_sni:
        required.add(Ref(DataGroup.KIND, own_path(config, names.SERVER_NAME_GROUP)))
    irule = own_irule(config, path, text, required)
    return [irule, Attachment(virtual, "rules", path, IRule.KIND), *kept]


def _kept_tls(config: BaselineSettings, facts: DeviceFacts) -> list[Object]:
    """Build records that give TLS to the pools to which the original router's Rules still lead.

    Without them requests would come in clear text between our iRules and our Rules. The pods are not
    verified until then: they never were.
    """
    reached = sorted({pool for _, pool in facts.original.reencrypt})
    profile = ServerSSL(tls_names.server_ssl(config.folder, tls_names.UNVERIFIED))
    group = own_path(config, names.REENCRYPT_GROUP)
    records = [Record(group, pool, profile.path, frozenset({profile.ref})) for pool in reached]
    return [profile, *records] if records else []


def _policy(config: BaselineSettings, facts: DeviceFacts, name: str, virtual: str) -> list[Object]:
    policy = Policy(own_path(config, name), sets_pool_variable=sets_pool_variable(facts))
    return [policy, Attachment(virtual, "policies", policy.path, Policy.KIND)]


def sets_pool_variable(facts: DeviceFacts) -> bool:
    """True if a Rule can set a variable by which names.REQUEST_IRULE recognises its pool."""
    return facts.version >= tmos.SET_VARIABLE_SINCE


def nowhere(folder: str, facts: DeviceFacts) -> Forward:
    """Return the action of Rules that lead to no pod."""
    return Forward(names.full_path(folder, names.NOWHERE_POOL), sets_pool_variable(facts))


def _request(config: BaselineSettings) -> list[Object]:
    """Build the iRule that keeps each request of a connection to the pool of its own Rule."""
    path = own_path(config, names.REQUEST_IRULE)
    nowhere = Pool(names.full_path(config.folder, names.NOWHERE_POOL))
    refusal = config.edge.not_found or (config.unavailable_page and (config.edge.unavailable or True))
    text = irules.request_irule(config.folder, page=refusal,
                                persistence=pool_options.default_persistence(config.balancing),
                                cookie=config.cookie_name,
                                proxied=config.proxy_protocol, gateways=config.serves_gateways)
    groups = {Ref(DataGroup.KIND, own_path(config, name))
              for name in (names.REENCRYPT_GROUP, names.PERSISTENCE_GROUP)}
    irule = own_irule(config, path, text, {nowhere.ref, *groups})
    return [nowhere, irule, *_everywhere(config, path)]


def _unavailable(config: BaselineSettings) -> list[Object]:
    """Build the iRule that answers 503 where nothing can answer."""
    path = own_path(config, names.UNAVAILABLE_IRULE)
    text = irules.unavailable_irule(config.folder, config.edge.unavailable)
    return [IRule(path, text), *_everywhere(config, path)]


def _not_found(config: BaselineSettings, page: ErrorPage) -> list[Object]:
    """Build the iRule that answers requests which no Route matches."""
    path = own_path(config, names.NOT_FOUND_IRULE)
    return [IRule(path, irules.not_found_irule(config.folder, page)), *_everywhere(config, path)]


def timeouts(config: BaselineSettings) -> list[Object]:
    """Build the objects for time-outs, without records: only if a Route or the front end asks for some."""
    group = DataGroup(own_path(config, names.TIMEOUT_GROUP))
    path = own_path(config, names.TIMEOUT_IRULE)
    text = irules.timeout_irule(config.folder, front_ends.limits(config))
    irule = own_irule(config, path, text, {group.ref})
    return [group, irule, *_everywhere(config, path)]


def _everywhere(config: BaselineSettings, irule: str) -> list[Attachment]:
    virtuals = [virtual for virtual in (config.http_virtual, config.https_virtual) if virtual]
    return [Attachment(virtual, "rules", irule, IRule.KIND) for virtual in virtuals]


def pod_tls(config: BaselineSettings, virtual: VirtualFacts) -> list[Object]:
    """Build the objects by which a virtual server chooses TLS towards pods for each pool.

    That is the iRule and, unless the administrator gave a server SSL profile, one of ours with a record by
    which the iRule recognises it. Neither of the two is attached before both are there: the device refuses
    the iRule alone, and the profile alone would encrypt towards every pod.
    """
    group = own_path(config, names.REENCRYPT_GROUP)
    path = own_path(config, names.REENCRYPT_IRULE)
    text = irules.reencrypt_irule(config.folder)
    irule = own_irule(config, path, text, {Ref(DataGroup.KIND, group)})
    if virtual.server_ssl:
        return [irule, Attachment(virtual.path, "rules", path, IRule.KIND)]
    ours = ServerSSL(own_path(config, tls_names.DEFAULT_SERVERSSL))
    record = Record(group, virtual.path, PLAIN)
    required = frozenset({irule.ref, ours.ref, record.ref})
    return [
        irule, ours, record,
        Attachment(virtual.path, "rules", path, IRule.KIND, extra_dependencies=required),
        Attachment(virtual.path, "profiles", ours.path, ServerSSL.KIND, "serverside",
                   extra_dependencies=required),
    ]


def virtual_server_findings(config: BaselineSettings, facts: DeviceFacts) -> Findings:
    """Report settings that have no effect because of what is on a virtual server, or of the BIG-IP."""
    unverified = (f"--tls-health-checks has no effect: {facts.tls_check_problem}",) if (
        config.tls_checks and facts.tls_check_problem) else ()
    return edge.compression_findings(config.edge.compressed_types, facts) + Findings(warnings=unverified)

"""BIG-IP objects for TLS towards clients that all Routes share."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from f5router.desired.irules import tls_commands
from f5router.model import cipher_suites, names, tls_names, tmos
from f5router.model.client_tls import REQUESTED, VERSIONS, TLSFiles, TLSProperties, TLSSettings
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import FrontEndPlace, own_path
from f5router.model.hostnames import quote
from f5router.model.ltm import (
    Attachment,
    CertFile,
    ClientSSL,
    ClientSSLParent,
    CRLFile,
    IRule,
    KeyFile,
    Object,
    attachment_ref,
)
from f5router.model.objects import Ref

_OFF = {"ssl3": "no-sslv3", "1.0": "no-tlsv1", "1.1": "no-tlsv1.1", "1.2": "no-tlsv1.2", "1.3": "no-tlsv1.3"}
"""Word of tmOptions that switches a version off. Source: clouddocs, tmsh reference, ltm profile
client-ssl."""

PUBLIC_AUTHORITIES = "/Common/ca-bundle.crt"
"""The bundle that every BIG-IP has."""


class ClientTLSSettings(FrontEndPlace, Protocol):
    """The part of config.Config that is used here."""

    @property
    def https_virtual(self) -> str | None: ...

    @property
    def client_tls(self) -> TLSSettings: ...


_USUAL = TLSSettings(cipher_suites.parse(cipher_suites.NAMED["intermediate"])[0],
                     tuple(cipher_suites.TLS13))
"""Cipher suites of OpenShift's router by default. Source: haproxy-config.template."""


def _has_usual(config: ClientTLSSettings, facts: DeviceFacts) -> bool:
    """True if a front end has these cipher suites."""
    return facts.https is not None and facts.https.usual_suites and not config.client_tls.ciphers


def _settings(config: ClientTLSSettings, facts: DeviceFacts) -> TLSSettings:
    """Return the settings of a front end."""
    if not _has_usual(config, facts):
        return config.client_tls
    return replace(config.client_tls, ciphers=_USUAL.ciphers, ciphers_13=_USUAL.ciphers_13)


def parent(config: ClientTLSSettings, facts: DeviceFacts) -> str:
    """Return the full path of the parent of the client SSL profiles of Hosts."""
    if not _settings(config, facts):
        return ClientSSL.PARENT
    return tls_names.parent_client_ssl(
        config.folder, usual=_has_usual(config, facts),
        front_end=config.front_end if config.client_tls.own_clients else "")


def parent_paths(config: ClientTLSSettings, facts: DeviceFacts) -> tuple[str, str]:
    """Return the full paths of the parents of the profiles of Hosts, and of the default profile."""
    return parent(config, facts), own_path(config, tls_names.DEFAULT_PARENT_CLIENTSSL)


def parent_with(config: ClientTLSSettings, facts: DeviceFacts, minimum: str) -> tuple[str, list[Object]]:
    """Return the parent for Hosts with a lowest version of TLS, and its object if it is not the router's own.

    The stricter of both counts. A version that the parent above has off stays off, except 1.3 where nothing
    else is left: from TMOS 14.0 on the BIG-IP has it off by default (K10251520).

    Args: minimum: one that `minimum_fault` has no fault to find with; "" for that of the router.
    """
    settings, order = _settings(config, facts), list(VERSIONS)
    if not minimum or (settings.minimum and order.index(minimum) <= order.index(settings.minimum)):
        return parent(config, facts), []
    properties = _properties(facts.client_ssl, settings, facts.version)
    off = {_OFF[version] for version in order[:order.index(minimum)]}
    kept = properties.options - ({_OFF["1.3"]} if minimum == "1.3" else set())
    path = tls_names.parent_client_ssl(config.folder, minimum, usual=_has_usual(config, facts))
    return path, [ClientSSLParent(path, ClientSSL.PARENT, replace(properties, options=kept | off))]


def minimum_fault(config: ClientTLSSettings, facts: DeviceFacts, minimum: str, *, certified: bool) -> str:
    """Return why a lowest version of TLS cannot be had; "" if it can.

    Args: certified: True if the Host has a certificate, and so a profile, of its own.
    """
    settings, order, problem = config.client_tls, list(VERSIONS), ""
    if minimum not in order[1:]:
        problem = "which is unknown"
    elif settings.minimum and order.index(minimum) <= order.index(settings.minimum):
        return ""  # so it is for all
    elif settings.maximum and order.index(minimum) > order.index(settings.maximum):
        problem = f"but this router is configured for at most {VERSIONS[settings.maximum]}"
    elif minimum == "1.3" and facts.version < tmos.TLS13_SINCE:
        problem = f"which is possible from TMOS 14.0 on; this BIG-IP has {tmos.dotted(facts.version)}"
    elif settings.client_certificates:
        problem = "which is not supported by a router that asks clients for certificates"
    elif not certified:
        problem = ("but there is no certificate for the host; the profile with the default certificate has "
                   "versions of its own")
    return f"spec.tls: the lowest version of TLS is {quote(minimum)}, {problem}" if problem else ""


def checks(config: ClientTLSSettings) -> frozenset[Ref]:
    """Return the objects that must exist before a request with TLS reaches pods.

    Without a profile that asks for certificates the iRule would refuse every request of a Route whose status
    says that it is served.
    """
    if not config.client_tls.client_certificates or config.https_virtual is None:
        return frozenset()
    attached = [("profiles", tls_names.DEFAULT_CLIENTSSL)]
    if config.client_tls.client_certificates != REQUESTED:
        attached.append(("rules", names.CLIENT_CERTIFICATE_IRULE))
    return frozenset(attachment_ref(config.https_virtual, kind, own_path(config, name))
                     for kind, name in attached)


def _client_certificates(config: ClientTLSSettings, files: TLSFiles, virtual: str) -> list[Object]:
    """Build the iRule that lets no request pass without the certificate, and the files for its check."""
    settings, folder = config.client_tls, config.folder
    if not settings.client_certificates:
        return []
    objects: list[Object] = []
    if settings.client_certificates != REQUESTED:
        path = own_path(config, names.CLIENT_CERTIFICATE_IRULE)
        text = tls_commands.client_certificate_irule(
            required=settings.client_certificates == "required", expression=settings.client_filter)
        objects += [IRule(path, text), Attachment(virtual, "rules", path, IRule.KIND)]
    if files.client_ca:
        objects.append(CertFile(tls_names.client_ca_file(folder, files.client_ca), files.client_ca))
    if files.client_crl:
        objects.append(CRLFile(tls_names.crl_file(folder, files.client_crl), files.client_crl))
    return objects


def build(config: ClientTLSSettings, facts: DeviceFacts, files: TLSFiles) -> list[Object]:
    """Build the default client SSL profile and the parents, if there are files or settings for them.

    A virtual server that the router creates always has the former.

    The default profile takes the place of the administrator's, and descends from it: all other properties
    stay as they were, and the device does not let anybody delete what is to come back. Both change places in
    one write, so that TLS never lacks a profile, and no two are default for SNI. Settings are in parents, so
    that one write changes them for all Hosts.
    """
    settings, virtual = _settings(config, facts), config.https_virtual
    is_own = facts.https is not None and facts.https.is_own
    if virtual is None or not (settings or files.default_certificate or is_own):
        return []
    former = facts.https.default_client_ssl if facts.https else ""
    above = former or ClientSSL.PARENT
    if not settings:
        return _default(config, files, virtual, former, above)
    host_parent, default_parent = parent_paths(config, facts)
    theirs = facts.https.default_properties if facts.https else TLSProperties()
    checked = _client_certificates(config, files, virtual)
    own = frozenset(obj.ref for obj in checked if isinstance(obj, CertFile | CRLFile))

    def properties(inherited: TLSProperties) -> TLSProperties:
        return _with_certificates(_properties(inherited, settings, facts.version), config, files)

    tree = ((host_parent, ClientSSL.PARENT, facts.client_ssl), (default_parent, above, theirs))
    return [
        *checked,
        *(ClientSSLParent(path, grandparent, properties(inherited), own)
          for path, grandparent, inherited in (() if files.awaits_client_ca else tree)),
        *_default(config, files, virtual, former, default_parent),
    ]


def _default(config: ClientTLSSettings, files: TLSFiles, virtual: str, former: str,
             above: str) -> list[Object]:
    """Build the default profile. Args: former: the profile that it replaces; above: its parent."""
    pair, path = files.default_certificate, own_path(config, tls_names.DEFAULT_CLIENTSSL)
    profile = ClientSSL(path, "", "", "", parent=above, sni_default=True,
                        own_parent=tls_names.is_parent(above))
    attachment = Attachment(virtual, "profiles", path, ClientSSL.KIND, "clientside", replaces=former)
    if files.awaits_default:
        return [attachment]
    if pair is None:
        return [profile, attachment]
    cert, key, chain = tls_names.default_files(config.folder, pair, files.default_owner)
    return [
        CertFile(cert, pair.certificate), KeyFile(key, pair.key),
        *([CertFile(chain, pair.chain)] if pair.chain else []),
        replace(profile, cert=cert, key=key, chain=chain if pair.chain else ""), attachment,
    ]


def beside_profile(config: ClientTLSSettings, objects: Iterable[Object]) -> list[Object]:
    """Return objects in which the iRules of the HTTPS virtual server wait for its default profile.

    A BIG-IP refuses iRules with events and commands of TLS without a profile, which may not be known yet.
    """
    profile = own_path(config, tls_names.DEFAULT_CLIENTSSL)

    def waiting(obj: Object) -> Object:
        if not isinstance(obj, Attachment) or (obj.kind, obj.virtual) != ("rules", config.https_virtual):
            return obj
        needs = obj.extra_dependencies | {attachment_ref(obj.virtual, "profiles", profile)}
        return replace(obj, extra_dependencies=needs)

    return list(map(waiting, objects))


def _properties(inherited: TLSProperties, settings: TLSSettings,
                version: tuple[int, ...]) -> TLSProperties:
    """Return the properties of a parent: the settings, and what it inherits for the others.

    A property that was set once is not inherited any more, and no REST call is documented that makes it so
    again; so each is written.
    """
    properties = inherited
    if settings.ciphers:
        ciphers = cipher_suites.f5_string(settings.ciphers, settings.ciphers_13, version)
        properties = replace(properties, ciphers=ciphers, cipher_group="")
    if settings.minimum:
        order = list(VERSIONS)
        on = order[order.index(settings.minimum):order.index(settings.maximum) + 1]
        known = [each for each in order if each != "1.3" or version >= tmos.TLS13_SINCE]
        kept = inherited.options - {*_OFF.values(), "no-ssl"}
        properties = replace(properties, options=kept | {_OFF[each] for each in known if each not in on})
    return properties


def _with_certificates(properties: TLSProperties, config: ClientTLSSettings,
                       files: TLSFiles) -> TLSProperties:
    """Set the request for client certificates, at every handshake: no session may outlive a revocation.

    `request` lets a certificate pass that is not valid, which the iRule refuses. The device's own bundle is
    not sent to clients: it would make the handshake long. Source: clouddocs, tmsh reference, ltm profile
    client-ssl.
    """
    mode, folder = config.client_tls.client_certificates, config.folder
    if not mode:
        return properties
    ca = tls_names.client_ca_file(folder, files.client_ca) if files.client_ca else ""
    return replace(
        properties, peer_cert_mode="require" if mode == "required" else "request", authenticate="always",
        ca_file=ca or PUBLIC_AUTHORITIES, advertised_ca=ca,
        crl_file=tls_names.crl_file(folder, files.client_crl) if files.client_crl else "")

"""Server names for which there is a certificate: clients that ask for others are refused (strict SNI).

Names with a certificate are those of Hosts that bring one, those in the router's default certificate, and the
server names of the administrator's client SSL profiles. Without a default certificate of the router nothing
is refused: the names in the administrator's are not known. Source: openshift/router, haproxy-config.template
(strict-sni, with the default certificate among those of the frontend).
"""

import contextlib
from collections.abc import Iterator
from typing import Protocol

from cryptography import x509

from f5router.admission import pem
from f5router.model import hostnames, names, tls_names
from f5router.model.client_tls import TLSFiles, TLSKeyPair
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import DataGroup, Object, Record, attachment_ref
from f5router.model.objects import Ref


class StrictSettings(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

    @property
    def https_virtual(self) -> str | None: ...

    @property
    def strict_sni(self) -> bool:
        """True if a client with a server name that no certificate has is refused."""


def record(folder: str, host: str, *needs: Ref) -> Record:
    """Return the record of a name. Args: needs: what shows its certificate."""
    return Record(names.full_path(folder, names.SERVER_NAME_GROUP), names.passthrough_record(host),
                  names.CERTIFICATE, frozenset(needs))


def build(config: StrictSettings, facts: DeviceFacts, files: TLSFiles) -> list[Object]:
    """Build the data-group, the records of names beyond the Hosts, and the record that refuses the rest."""
    virtual, folder = config.https_virtual, config.folder
    if not config.strict_sni or virtual is None:
        return []
    group = DataGroup(names.full_path(folder, names.SERVER_NAME_GROUP))
    theirs = facts.https.server_names if facts.https else frozenset()
    records = {name: record(folder, name) for name in theirs if _is_name(name)}
    if files.default_certificate is None:
        return [group, *records.values()]
    default = attachment_ref(virtual, "profiles", names.full_path(folder, tls_names.DEFAULT_CLIENTSSL))
    for name in _names(files.default_certificate):
        records.setdefault(name, record(folder, name, default))
    irule = attachment_ref(virtual, "rules", names.full_path(folder, names.PASSTHROUGH_IRULE))
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

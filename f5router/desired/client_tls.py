"""BIG-IP objects for TLS towards clients that are the same for all Routes."""

from typing import Protocol

from f5router.model import names
from f5router.model.client_tls import TLSFiles
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import Attachment, CertFile, ClientSSL, KeyFile, Object


class ClientTLSSettings(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

    @property
    def https_virtual(self) -> str | None: ...


def build(config: ClientTLSSettings, facts: DeviceFacts, files: TLSFiles) -> list[Object]:
    """Build the client SSL profile with the default certificate, if there is one.

    It takes the place of the administrator's default profile, and has it as its parent: all other properties
    stay as they were, and the device does not let anybody delete what is to come back. Both change places in
    one write, so that TLS never lacks a profile, and no two are default for SNI.
    """
    pair, virtual = files.default_certificate, config.https_virtual
    if pair is None or virtual is None:
        return []
    former = facts.https.default_client_ssl if facts.https else ""
    cert, key, chain = names.default_files(config.folder, pair)
    profile = ClientSSL(
        names.full_path(config.folder, names.DEFAULT_CLIENTSSL), "", cert, key, chain if pair.chain else "",
        parent=former or ClientSSL.PARENT, sni_default=True)
    return [
        CertFile(cert, pair.certificate), KeyFile(key, pair.key),
        *([CertFile(chain, pair.chain)] if pair.chain else []), profile,
        Attachment(virtual, "profiles", profile.path, ClientSSL.KIND, "clientside", replaces=former),
    ]

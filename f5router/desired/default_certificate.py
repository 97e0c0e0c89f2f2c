"""Default certificates of the front ends of Gateways: those of listeners for all hosts.

The baseline of a front end has the profile with its default certificate. Which certificate of a Gateway that
is, if any, is known once the Routes of hostnames.ANY are checked: until then the profile is undetermined.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from f5router.admission.admission import EvaluatedRoute
from f5router.model import tls_names
from f5router.model.client_tls import TLSFiles, TLSKeyPair
from f5router.model.cluster import Key
from f5router.model.front_end_names import FrontEndPlace, own_path
from f5router.model.ltm import ClientSSL
from f5router.model.objects import Ref
from f5router.model.virtual_server import FrontEnd


class DefaultCertificate(NamedTuple):
    """The certificate for server names that no other one is for."""

    pair: TLSKeyPair | None = None
    owner: Key | None = None
    """See TLSFiles.default_owner."""
    is_awaited: bool = False
    """True while it is not known which one it is; not so if nothing but a right is missing."""


NO_DEFAULT = DefaultCertificate()
AWAITED = DefaultCertificate(is_awaited=True)


def brought_by(routes: Sequence[EvaluatedRoute]) -> DefaultCertificate:
    """Return the certificate that Routes of hostnames.ANY bring. Args: routes: that bring one, or may."""
    if (first := next((each for each in routes if each.key_pair is not None), None)) is not None:
        return DefaultCertificate(first.key_pair, tls_names.certificate_key(first.route))
    secret = routes[0].pending_secret
    return NO_DEFAULT if secret is not None and secret.forbidden else AWAITED


def profile_ref(config: FrontEndPlace) -> Ref:
    """Return the profile with the default certificate of a front end."""
    return Ref(ClientSSL.KIND, own_path(config, tls_names.DEFAULT_CLIENTSSL))


class DefaultCertificates:
    """The known certificates of hostnames.ANY by front end. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[str, DefaultCertificate] = {}
        """By front end."""

    def put(self, front_end: str, default: DefaultCertificate | None) -> bool:
        """Store what the Routes of hostnames.ANY bring; None without any. Returns: True if that differs."""
        before = self._known.pop(front_end, None)
        if default is not None:
            self._known[front_end] = default
        return before != default

    def files(self, front_end: FrontEnd | None, files: TLSFiles) -> TLSFiles:
        """Return the files for TLS towards clients of a front end."""
        if front_end is None or not front_end.own_default:
            return files
        default = self._known.get(front_end.name, AWAITED)
        if default.pair is not None and default.owner is not None:
            return files.with_default(default.pair, default.owner)
        return files.awaiting_default() if default.is_awaited else files

    def awaited(self, front_ends: Iterable[str]) -> list[str]:
        """Return those of some front ends whose Routes of hostnames.ANY are not there yet."""
        return [name for name in front_ends if name not in self._known]

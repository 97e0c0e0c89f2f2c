"""Names of certificate and key files between their upload to the device's disk and their installation."""

import re
from dataclasses import dataclass

from f5router.model.names import HEX, STEM, full_path

_UPLOADED = re.compile(
    rf"f5router_({HEX})_({HEX})_([0-9]{{1,10}})_([0-9]{{1,12}})_([0-9a-f]{{8}})\.(cert|key)")
_FORMERLY_UPLOADED = re.compile(
    rf"{STEM}-https-(?:cert|chain)-{HEX}\.cert|openshift_tls-https-cabundle-{HEX}\.cert"
    rf"|{STEM}-https-key-{HEX}\.key")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The name of a certificate or key file on the device's disk, from its upload to its installation.

    The name contains the owner and the time, so a later run recognises files that an earlier one left behind:
    f5router_<folder>_<host>_<process>_<second>_<nonce>.key
    """

    folder: str
    """Digest of the full path of the router's folder."""
    host: str
    """Digest of the name of the pod or host."""
    process: int
    second: int
    """Time of the upload in seconds since 1970, by the router's clock."""
    nonce: str
    """8 hexadecimal digits; no two uploads share a name."""
    suffix: str
    """"cert" or "key"."""

    def __str__(self) -> str:
        return (f"f5router_{self.folder}_{self.host}_{self.process}_{self.second}_{self.nonce}"
                f".{self.suffix}")

    @classmethod
    def parse(cls, name: str) -> "UploadedFile | None":
        """Parse a name; return None if no router made it."""
        match = _UPLOADED.fullmatch(name)
        if match is None:
            return None
        folder, host, process, second, nonce, suffix = match.groups()
        return cls(folder, host, int(process), int(second), nonce, suffix)


def formerly_uploaded(folder: str, name: str) -> str:
    """Return the full path of the file object for which an earlier release gave an upload this name.

    Returns: "" for any other name. The original router's names have no digest and do not count: they
        identify neither the router nor the content.
    """
    if not _FORMERLY_UPLOADED.fullmatch(name):
        return ""
    return full_path(folder, name if name.endswith(".key") else f"{name.removesuffix('.cert')}.crt")

"""Verification of the SSH host key of the BIG-IP.

A configured fingerprint decides alone; otherwise a known_hosts file does; without either no key is
accepted. The original router accepted any key (openshift/origin v3.11.0,
pkg/router/f5/f5.go: sshOptions).
"""

import base64
import fnmatch
import hashlib
import hmac
import logging
import re
from dataclasses import dataclass
from pathlib import Path

from f5router.model.errors import HostKeyRefused

log = logging.getLogger(__name__)

OPTIONS = (
    "--f5-ssh-known-hosts/ROUTER_EXTERNAL_HOST_SSH_KNOWN_HOSTS or "
    "--f5-ssh-host-key/ROUTER_EXTERNAL_HOST_SSH_HOST_KEY"
)
_SHA256 = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_MD5 = re.compile(r"([0-9a-f]{2}:){15}[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public host key."""

    kind: str
    """Type of the key, "ssh-rsa" also if signatures are rsa-sha2-512."""
    blob: bytes

    @property
    def sha256(self) -> str:
        """Fingerprint as `ssh-keygen -l` prints it: "SHA256:" and base64 without padding."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def md5(self) -> str:
        """Fingerprint as `ssh-keygen -l -E md5` prints it, without "MD5:"."""
        return hashlib.md5(self.blob, usedforsecurity=False).digest().hex(":")


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """Keys of one host in a known_hosts file."""

    accepted: frozenset[HostKey] = frozenset()
    revoked: frozenset[HostKey] = frozenset()


def parse_fingerprint(text: str) -> str:
    """Parse a fingerprint and return its normal form.

    Shape: "SHA256:" and 43 or 44 base64 characters, or 16 hexadecimal bytes with colons, with or
    without "MD5:" before them.
    Raises: ValueError: neither form.
    """
    sha256 = text.strip().rstrip("=")
    if _SHA256.fullmatch(sha256):
        return sha256
    md5 = text.strip().removeprefix("MD5:").lower()
    if _MD5.fullmatch(md5):
        return md5
    raise ValueError(f"not a host key fingerprint (SHA256:... or MD5 in hexadecimal): {text!r}")


def host_name(host: str, port: int) -> str:
    """Return the name of a server in a known_hosts file."""
    return host.lower() if port == 22 else f"[{host.lower()}]:{port}"


def read_known_hosts(path: str, host: str, port: int) -> KnownHosts:
    """Read the keys of a server from a known_hosts file.

    Shape: sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT": plain and hashed names, [host]:port, * and ?,
    !name, @revoked. @cert-authority lines are ignored: host certificates are not supported.
    A line that cannot be parsed is logged and ignored, as ssh does.
    Raises: OSError: the file cannot be read.
    """
    keys: dict[str, set[HostKey]] = {"": set(), "@revoked": set()}
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        marker = fields.pop(0) if fields[0].startswith("@") else ""
        try:
            names, kind, key = fields[:3]
            blob = base64.b64decode(key, validate=True)
            matches = _names_match(names, host_name(host, port))
        except ValueError:
            log.warning("known_hosts line ignored", extra={"path": str(path), "line": number})
            continue
        if matches and marker in keys:
            keys[marker].add(HostKey(kind, blob))
    return KnownHosts(frozenset(keys[""]), frozenset(keys["@revoked"]))


def _names_match(names: str, host: str) -> bool:
    """True if the first field of a line matches this host. Raises: ValueError: a broken hash."""
    if names.startswith("|1|"):
        salt, digest = (base64.b64decode(text, validate=True) for text in names[3:].split("|"))
        return hmac.compare_digest(hmac.new(salt, host.encode(), "sha1").digest(), digest)
    matched = False
    for name in names.lower().split(","):
        if name.startswith("!") and _like(name[1:], host):
            return False
        matched = matched or _like(name, host)
    return matched


def _like(pattern: str, host: str) -> bool:
    # In known_hosts brackets are part of "[host]:port", not a set of characters.
    return fnmatch.fnmatchcase(host, pattern.replace("[", "[[]"))


@dataclass(frozen=True, slots=True)
class HostKeyPolicy:
    """Accepts or refuses the keys of one server."""

    name: str
    """host, or [host]:port."""
    fingerprints: frozenset[str] = frozenset()
    known: KnownHosts = KnownHosts()
    insecure: bool = False

    @property
    def kinds(self) -> frozenset[str]:
        """Types of the known keys, which are requested first."""
        return frozenset(key.kind for key in self.known.accepted)

    def accepts(self, key: HostKey) -> bool:
        """True if a server with this key is trusted."""
        if self.insecure:
            log.warning("SSH host key not checked",
                        extra={"host": self.name, "key": f"{key.kind} {key.sha256}"})
            return True
        if key in self.known.revoked:
            return False
        if self.fingerprints:
            return key.sha256 in self.fingerprints or key.md5 in self.fingerprints
        return key in self.known.accepted

    def refusal(self, shown: list[HostKey]) -> HostKeyRefused:
        """Return the exception for a server without an accepted key.

        The message is cut at errors.EXCERPT, so the most important comes first.
        """
        key = shown[0]
        every = ", ".join(f"{each.kind} {each.sha256}" for each in shown)
        if key in self.known.revoked:
            reason = "revoked"
        else:
            reason = "changed" if self.fingerprints or self.known.accepted else "unknown"
        log.error("SSH host key refused", extra={"host": self.name, "reason": reason, "keys": every})
        if reason == "unknown":
            advice = f"check it, then set {OPTIONS} (or --f5-ssh-insecure)"
        else:
            advice = f"an impostor? If not, correct {OPTIONS}"
        return HostKeyRefused(f"{reason} SSH host key {key.kind} {key.sha256}: {advice}")

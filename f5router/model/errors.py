"""Exceptions, and the mapping of iControl REST replies to them.

RouterError
 +- ConfigError            flags, environment or files are wrong; found at start, all at once
 +- Unanswered             the control loop did not answer another thread in time
 +- KubeError              the Kubernetes API
 |   +- KubeUnreachable    no reply, or one that may be repeated
 |   +- KubeForbidden      401, 403: a right is missing
 |   +- ResourceUnavailable      404 on a whole kind
 |   +- KubeConflict       409 on a write
 |   +- ResourceExpired           410: list again
 |   +- KubeNotFound       404 on one object
 |   +- KubeNotLeader      nothing was sent: another replica writes
 |   +- KubeInvalid        400, 422 and other 4xx: the same request would fail again
 +- BigIPError             the BIG-IP
     +- Unreachable        no reply; a write may or may not have been done
     |   +- Untrusted      its TLS certificate: repeating does not help
     +- NotReady           daemons are starting; proves nothing about objects
     +- Busy               an asynchronous task holds the REST worker
     +- DeviceTimeout      the call took over 60 s on the device; it may go on and succeed
     +- AuthFailed         user name, password, token or role
     |   +- LoginRefused   user name or password: too many attempts lock the account
     |   +- TokenLimit     no token is left for the user
     |   +- Forbidden      403 to one request, twice, while the device answers a read
     +- Unsupported        too old a TMOS, or no iControl REST at all
     |   +- PartitionMissing   the partition of --f5-partition-path
     +- Standby            not the active unit of its pair: nothing is written to it
     +- NotLeader          nothing was sent: another replica writes
     +- Stopped            the router is stopping: nothing is sent any more
     +- Refused            the device understood and said no
     |   +- NotFound       404
     |   +- Conflict       409
     |   +- InUse          400: something refers to the object
     |   +- Incomplete     parts of the object were refused, the rest is written
     +- Unconfirmed        no usable reply to the write of one object, while the device answers others
     +- UploadError        certificate files on their way to the device's disk
         +- HostKeyRefused
         +- UploadAuthFailed

The class depends on what an operator can do. Refused, and a Forbidden or Unconfirmed that is alone, blame one
object and cost only the Routes that use it; every other BigIPError is about the device and ends the pass.
"""

import html
import re
from collections.abc import Iterable

EXCERPT = 256
"""Characters of a reply kept in an exception."""

NO_RIGHT = "01070822"
"""The role lacks a right on this object; status 400."""

PROVISIONING = "01071003"
"""A module is being provisioned, the daemons will restart; status 400."""

# Codes with which TMOS refuses to delete what is referenced (bigip-behaviour.md A2.3, B1).
IN_USE = frozenset({
    "01070265", "01070083", "01070110", "01070344", "01070320", "01070635", "01071349",
})

# Names and paths that tenants choose are quoted in these texts. So the number counts only at the
# beginning, and a sentence only before the first quotation mark or parenthesis.
_CODE = re.compile(r"\s*(?:[A-Za-z ]+:\s*)?([0-9a-f]{8}):\d+:")
_TIMED_OUT = re.compile(r"[^\"'(]*(?:TimeoutException|AsyncContext timeout)")
# 11.5 names the worker that it does not (yet) have by the URL behind Apache, later versions by path.
_NOT_REGISTERED = re.compile(
    r"$|URI path .*not registered|Public URI path not registered|http://localhost:8100/|[^\"'(]*RestWorkerUriNotFound"
)
_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
# A block that was cut at either end is still a secret: up to the text's end, or from its beginning.
_PEM = re.compile(
    r"-----BEGIN .*?(?:-----END [^-]*-----|\Z)|\A(?:(?!-----BEGIN ).)*?-----END [^-]*-----", re.DOTALL)

# A line of a key that was torn out of its block: 24 characters, "=" at its end included.
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{22,}={0,2}")
_WORD = re.compile("[A-Z]?[a-z]*(?:[A-Z][a-z]{3,})?[0-9]{0,3}|[0-9a-f]*")
_FINGERPRINT = 43
"""Base64 characters of a SHA-256 digest, as OpenSSH shows those of host keys behind "SHA256:"."""


class RouterError(Exception):
    """Base of all exceptions that the router raises on purpose."""


class ConfigError(RouterError):
    """Invalid settings.

    Attributes:
        problems: one sentence for each, with flag and variable.
    """

    def __init__(self, problems: list[str]):
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class Unanswered(RouterError):
    """The control loop did not answer another thread in time; its text is the reason."""


class KubeError(RouterError):
    """A reply of the Kubernetes API that is an error.

    Attributes:
        retry_after_s: seconds that the server asked to wait before the next attempt, or None.
    """

    retry_after_s: float | None = None


class KubeUnreachable(KubeError):
    """No reply, or a passing failure: 429, 5xx, a broken stream.

    Attributes:
        status: HTTP status of the reply, 0 without one.
    """

    def __init__(self, message: str, retry_after_s: float | None = None, status: int = 0):
        super().__init__(message)
        self.retry_after_s, self.status = retry_after_s, status


class KubeForbidden(KubeError):
    """401, or 403 for want of a right; the message says which one and how to grant it."""


class KubeUnauthorized(KubeForbidden):
    """401, or 403 for system:anonymous: nothing may be read with these credentials."""


class ResourceUnavailable(KubeError):
    """The cluster does not serve this kind."""


class KubeConflict(KubeError):
    """409: the object changed since it was read."""


class ResourceExpired(KubeError):
    """410: the resourceVersion is too old; list again."""


class KubeNotFound(KubeError):
    """404: the object is gone."""


class KubeNotLeader(KubeError):
    """Nothing was sent: another replica of this router writes."""


class KubeInvalid(KubeError):
    """400, 422 and other 4xx: the request is understood and will never succeed. A 403 by admission too."""


class BigIPError(RouterError):
    """A request to the BIG-IP that did not succeed.

    Attributes:
        method, path: the request, without host, query or body.
        status: HTTP status, 0 without a reply.
        code: TMOS message number such as "01070265", or "".
        text: the device's own words, at most 256 characters besides `own`; the title of an HTML page. All
            that may be a part of a key is redacted, except `own`.
        may_have_applied: True for a write that may have been applied nevertheless: read before repeating.
    """

    def __init__(self, method: str = "", path: str = "", text: str = "", *,
                 status: int = 0, may_have_applied: bool = False, own: str = ""):
        """Args: own: a part of the text, such as the path of a file, which comes from the settings."""
        self.method, self.path, self.status, self.may_have_applied = method, path, status, may_have_applied
        self.text = _excerpt(text, own)
        self.code = _code(text)
        request = f"{method} {path}: " if method else ""
        super().__init__(f"{request}{status or ''}{' ' if status else ''}{self.text}")


class Unreachable(BigIPError):
    """No reply. may_have_applied is False if the request certainly did not reach the device."""


class Untrusted(Unreachable):
    """The device's TLS certificate was refused; nothing was sent."""


class NotReady(BigIPError):
    """The REST worker or mcpd is starting."""


class Busy(BigIPError):
    """An asynchronous task holds the REST worker."""


class DeviceTimeout(BigIPError):
    """The device stopped waiting for its own daemon; the command may still finish."""


class AuthFailed(BigIPError):
    """The device refused the credentials or the role."""


class LoginRefused(AuthFailed):
    """401 to user name and password, or to a fresh token: each attempt counts towards a locked account."""


class TokenLimit(AuthFailed):
    """No login: the user has as many live tokens as a BIG-IP allows."""


class Forbidden(AuthFailed):
    """403 to a request and to its repetition, while the device answers a read: nothing was executed.

    Attributes:
        alone: True if no write of another object failed in the same way just before; otherwise the role may
            be to blame. None for requests that are not the write of one object.
    """

    def __init__(self, method: str = "", path: str = "", text: str = "", *,
                 status: int = 403, alone: bool | None = None):
        super().__init__(method, path, text, status=status)
        self.alone = alone


class Unsupported(BigIPError):
    """This device cannot be used."""


class PartitionMissing(Unsupported):
    """The partition that is to hold the router's objects does not exist on this device."""


class Standby(BigIPError):
    """The unit is not active, so nothing was written."""


class NotLeader(BigIPError):
    """Nothing was sent: another replica of this router writes."""


class Stopped(BigIPError):
    """The router is stopping: nothing is sent any more."""


class Refused(BigIPError):
    """The device refused this object."""


class NotFound(Refused):
    """The object does not exist."""


class Conflict(Refused):
    """The object exists already."""


class InUse(Refused):
    """The object is referenced and cannot be deleted."""


class Unconfirmed(BigIPError):
    """No usable reply to the write of one object, while the device answers reads; it may have been applied.

    Attributes:
        alone: False if another write failed in the same way just before, so the device may be to blame.
    """

    def __init__(self, method: str = "", path: str = "", text: str = "", *,
                 status: int = 0, alone: bool = True):
        super().__init__(method, path, text, status=status, may_have_applied=True)
        self.alone = alone


UNCERTAIN_ERRORS = (NotFound, Unconfirmed)
"""Errors that leave open whether a write was applied: the device is read at once, and the next attempt may
succeed."""


class UploadError(BigIPError):
    """A file could not be copied to, or removed from, the device's disk."""

    def __init__(self, text: str, *, own: str = ""):
        super().__init__("", "", text, own=own)


class HostKeyRefused(UploadError):
    """The device's SSH host key is unknown or has changed."""


class UploadAuthFailed(UploadError):
    """The device's SSH server refused the user or the key."""


def is_elsewhere(status: int, text: str) -> bool:
    """True if a reply was given by something else than a REST worker: a redirect, or a page with 404.

    Args: status, text: as for `error_for`.
    """
    return 300 <= status < 400 or (status == 404 and _is_page(text))


def error_for(method: str, path: str, status: int, text: str, secrets: Iterable[str] = (), *,
              is_known: bool = False) -> BigIPError:
    """Return the exception for a reply.

    Args:
        status: HTTP status of the reply, 300 or more.
        text: message of the JSON body, or the whole body when it is not JSON.
        secrets: strings that the exception must not contain, even if the device echoes them.
        is_known: True if iControl REST has answered at this address before: then a redirect, or a page with
            404, passes, as while the daemons start.
    Source: bigip-behaviour.md A2.2, A2.3, A6. The number before ":3:" and the status decide, the
        sentence only where there is no number.
    """
    words = _title(text) if _is_page(text) else text
    if is_elsewhere(status, text):
        kind: type[BigIPError] = NotReady if is_known else Unsupported
    else:
        kind = _kind(status, words, _code(text))
    for secret in secrets:  # after the kind is known: a password may be a word of the sentence
        text = text.replace(secret, "[redacted]")
    if kind is Unsupported:
        text = f"{_excerpt(text)}: no iControl REST at this address; TMOS 11.4 or later is needed"
    return kind(method, path, text, status=status)


def _is_page(text: str) -> bool:
    """True if Apache or Jetty answered, not a REST worker."""
    return text.lstrip().startswith("<")


def _title(page: str) -> str:
    title = _TITLE.search(page)
    return html.unescape(title.group(1) if title else _TAG.sub(" ", page))


def _excerpt(text: str, own: str = "") -> str:
    """Shorten a reply: one line, key material redacted except a part of ours, HTML reduced to its title."""
    text = _title(text) if _is_page(text) else text
    redacted = own.join(map(redact_keys, text.split(own))) if own else redact_keys(text)
    return " ".join(redacted.split())[:EXCERPT + len(own)]


def redact_keys(text: str) -> str:
    """Replace PEM blocks, and base64 of 24 characters and more wherever it stands.

    Words, hexadecimal numbers and paths of these stay, such as 8100/mgmt/tm/ltm/profile/client or
    /OpenShift/applications/zone1. 24 characters of a key have such a form twice in a million times.
    """
    return _BASE64.sub(_redacted, _PEM.sub("[redacted PEM]", text))


def _redacted(match: re.Match[str]) -> str:
    """Replace the segments of a path that are no words."""
    run: str = match.group()
    if len(run) == _FINGERPRINT and match.string[: match.start()].endswith("SHA256:"):
        return run
    return "/".join(text if _WORD.fullmatch(text) else "[redacted]" for text in run.split("/"))


def _code(text: str) -> str:
    match = _CODE.match(text)
    return match.group(1) if match else ""


def _kind(status: int, text: str, code: str) -> type[BigIPError]:
    if status in (401, 403) or code == NO_RIGHT:
        return AuthFailed
    if code:
        return _numbered(status, code)
    if status == 404:
        return NotReady if _NOT_REGISTERED.match(text) else NotFound
    if text.startswith("There is an active asynchronous task"):
        return Busy
    if _TIMED_OUT.match(text):
        return DeviceTimeout
    if text.startswith("can't get object count from mcpd"):
        return NotReady
    return _numbered(status, code)


def _numbered(status: int, code: str) -> type[BigIPError]:
    if code == PROVISIONING or status >= 500:
        return NotReady
    if code in IN_USE:
        return InUse
    return {404: NotFound, 409: Conflict}.get(status, Refused)

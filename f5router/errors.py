"""Exceptions, and the table that makes one of an iControl REST reply.

RouterError
 +- ConfigError            flags, environment or files are wrong; found at start, all at once
 +- KubeError              the Kubernetes API
 |   +- KubeUnreachable    no reply, or one that may be repeated
 |   +- KubeForbidden      401, 403: a right is missing
 |   +- KindNotServed      404 on a whole kind
 |   +- KubeConflict       409 on a write
 |   +- KubeGone           410: list again
 |   +- KubeNotFound       404 on one object
 +- BigIPError             the BIG-IP
     +- Unreachable        no reply; a write may or may not have been done
     +- NotReady           daemons are starting; proves nothing about objects
     +- Busy               an asynchronous task holds the REST worker
     +- DeviceTimeout      the call took over 60 s on the device; it may go on and succeed
     +- AuthFailed         user name, password, token or role
     +- Unsupported        too old a TMOS, or no iControl REST at all
     +- Refused            the device understood and said no
     |   +- NotFound       404
     |   +- Conflict       409
     |   +- InUse          400: something refers to the object
     +- UploadError        certificate files over SSH
         +- HostKeyRefused
         +- UploadAuthFailed

What an operator can do decides the class. Refused blames one object and costs only the Routes that
use it; every other BigIPError is about the device and ends the pass.
"""

import re

EXCERPT = 256
"""Characters of a reply kept in an exception."""

# Codes with which TMOS refuses to delete what is referenced (bigip-rest.md A2.3, B1).
IN_USE = frozenset({
    "01070265", "01070083", "01070110", "01070344", "01070320", "01070635", "01071349",
})

_CODE = re.compile(r"\b([0-9a-f]{8}):\d+:")
_NOT_REGISTERED = re.compile(r"not registered|RestWorkerUriNotFound|^$")


class RouterError(Exception):
    """Base of everything that the router raises on purpose."""


class ConfigError(RouterError):
    """Settings that cannot work.

    Attributes:
        problems: one sentence each, naming flag and variable.
    """

    def __init__(self, problems: list[str]):
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class KubeError(RouterError):
    """A reply of the Kubernetes API that is an error."""


class KubeUnreachable(KubeError):
    """No reply, or a passing failure: 429, 5xx, a broken stream.

    Attributes:
        retry_after_s: seconds that the server asked for, or None.
    """

    def __init__(self, message: str, retry_after_s: float | None = None):
        super().__init__(message)
        self.retry_after_s = retry_after_s


class KubeForbidden(KubeError):
    """401 or 403; the message says which right is missing and how to grant it."""


class KindNotServed(KubeError):
    """The cluster does not serve this kind."""


class KubeConflict(KubeError):
    """409: the object changed since it was read."""


class KubeGone(KubeError):
    """410: the resourceVersion is too old; list again."""


class KubeNotFound(KubeError):
    """404: the object is gone."""


class BigIPError(RouterError):
    """A request to the BIG-IP that did not succeed.

    Attributes:
        method, path: the request, without host, query or body.
        status: HTTP status, 0 without a reply.
        code: TMOS message number such as "01070265", or "".
        text: the device's own words, at most 256 characters.
    """

    def __init__(self, method: str = "", path: str = "", text: str = "", *, status: int = 0):
        self.method, self.path, self.status = method, path, status
        self.text = " ".join(text.split())[:EXCERPT]
        found = _CODE.search(text)
        self.code = found.group(1) if found else ""
        request = f"{method} {path}: " if method else ""
        super().__init__(f"{request}{status or ''}{' ' if status else ''}{self.text}")


class Unreachable(BigIPError):
    """No reply; what was sent may have been done."""


class NotReady(BigIPError):
    """The REST worker or mcpd is starting."""


class Busy(BigIPError):
    """There is an active asynchronous task executing."""


class DeviceTimeout(BigIPError):
    """The device gave up waiting for its own daemon; the command may still finish."""


class AuthFailed(BigIPError):
    """The device refused the credentials or the role."""


class Unsupported(BigIPError):
    """This device cannot be used."""


class Refused(BigIPError):
    """The device refused this object."""


class NotFound(Refused):
    """The object does not exist."""


class Conflict(Refused):
    """The object exists already."""


class InUse(Refused):
    """The object is referenced and cannot be deleted."""


class UploadError(BigIPError):
    """A file could not be copied to, or removed from, the device over SSH."""

    def __init__(self, text: str):
        super().__init__("", "", text)


class HostKeyRefused(UploadError):
    """The device's SSH host key is unknown or has changed."""


class UploadAuthFailed(UploadError):
    """The device's SSH server refused the user or the key."""


def error_for(method: str, path: str, status: int, text: str) -> BigIPError:
    """The exception for a reply.

    Args:
        status: HTTP status of the reply, 400 or more.
        text: message of the JSON body, or the whole body when it is not JSON.
    Source: bigip-rest.md A2.2, A2.3, A6. The number before ":3:" and the status decide, the
        sentence only where there is no number.
    """
    kind = _kind(status, text)
    if kind is Refused and (code := _CODE.search(text)) and code.group(1) in IN_USE:
        kind = InUse
    return kind(method, path, text, status=status)


def _kind(status: int, text: str) -> type[BigIPError]:
    if status in (401, 403):
        return AuthFailed
    if status == 400 and "01070822" in text:  # the role lacks a right on this object
        return AuthFailed
    if status == 404:
        if "<html" in text.lower():
            return Unsupported
        return NotReady if _NOT_REGISTERED.search(text) and "01020036" not in text else NotFound
    if "active asynchronous task" in text:
        return Busy
    if "TimeoutException" in text or "AsyncContext timeout" in text:
        return DeviceTimeout
    if status == 400 and ("can't get object count from mcpd" in text or "01071003" in text):
        return NotReady
    if status == 409:
        return Conflict
    return NotReady if status >= 500 else Refused

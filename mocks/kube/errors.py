"""API errors: an exception per refusal, with the Status body a real API server sends.

Messages follow k8s.io/apimachinery/pkg/api/errors/errors.go; clients and people match on them.
"""

import json
from collections.abc import Mapping, Sequence

from .kinds import Kind


class ApiError(Exception):
    """A refusal: HTTP code, machine-readable reason, message for people, details."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping | None = None,
        metadata: Mapping | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}
        self.headers = dict(headers or {})

    def status(self) -> dict:
        """The meta.k8s.io/v1 Status object."""
        body = {"kind": "Status", "apiVersion": "v1", "metadata": dict(self.metadata), "status": "Failure",
                "message": self.message}  # fmt: skip
        if self.reason:
            body["reason"] = self.reason
        if self.details:
            body["details"] = dict(self.details)
        return body | {"code": self.code}

    def json(self) -> bytes:
        return json.dumps(self.status(), separators=(",", ":")).encode()


class PathNotFound(ApiError):
    """No API is served at this path: a text body, not a Status."""

    def __init__(self):
        super().__init__(404, "NotFound", "404 page not found")


def details_of(kind: Kind, name: str = "", **more) -> dict:
    """Details with the plural under ``kind``, as the API server writes them, without empty entries."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, **more}
    return {key: value for key, value in details.items() if value not in ("", None)}


def not_found(kind: Kind, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{kind.resource} "{name}" not found', details=details_of(kind, name))


def unknown_resource() -> ApiError:
    """The group and version exist, the resource does not."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(kind: Kind, name: str) -> ApiError:
    message = f'{kind.resource} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, details=details_of(kind, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(kind: Kind, name: str, why: str = STALE) -> ApiError:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, details=details_of(kind, name))


def invalid(kind: Kind, name: str, causes: Sequence[tuple[str, str, str]]) -> ApiError:
    """Refused by validation. Args: causes: (reason, message, field) of each fault."""
    text = [f"{where}: {message}" for _, message, where in causes]
    listed = text[0] if len(text) == 1 else f"[{', '.join(text)}]"
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = {"name": name, "group": kind.group, "kind": kind.kind}
    details = {key: value for key, value in details.items() if value}
    details["causes"] = [{"reason": r, "message": m, "field": f} for r, m, f in causes]
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {listed}', details=details)


def bad_patch(patched: str, why: str) -> ApiError:
    """The patched object cannot be decoded: k8s.io/apiserver/pkg/endpoints/handlers/patch.go."""
    message = f"Invalid value: {json.dumps(patched)}: {why}"
    causes = [{"reason": "FieldValueInvalid", "message": message, "field": "patch"}]
    return ApiError(422, "Invalid", f' "" is invalid: patch: {message}', details={"causes": causes})


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(
    kind: Kind, *, verb: str, user: str, namespace: str | None = None, name: str = "", subresource: str = ""
) -> ApiError:
    """RBAC refusal, worded as k8s.io/apiserver/pkg/authorization/.../errors.go words it."""
    subject = f'{kind.resource} "{name}"' if name else kind.resource
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    scope = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    message = (
        f'{subject} is forbidden: User "{user}" cannot {verb} resource "{resource}"'
        f' in API group "{kind.group}" {scope}'
    )
    return ApiError(403, "Forbidden", message, details=details_of(kind, name))


def forbidden_path(verb: str, user: str, path: str) -> ApiError:
    """RBAC refusal of what is no resource."""
    return ApiError(403, "Forbidden", f'forbidden: User "{user}" cannot {verb} path "{path}"', details={})


def method_not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def unsupported_media(accepted: Sequence[str]) -> ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(
        accepted
    )
    return ApiError(415, "UnsupportedMediaType", message)


def gone(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_old(wanted: int, oldest: int) -> ApiError:
    return gone(f"too old resource version: {wanted} ({oldest})")


def too_large(wanted: int, current: int) -> ApiError:
    """A resourceVersion the server has not reached: the client may ask again."""
    message = f"Too large resource version: {wanted}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return ApiError(504, "Timeout", message, details=details, headers={"Retry-After": "1"})


CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)


def continue_expired(token: str) -> ApiError:
    """Args: token: continues the list, though not from the same snapshot."""
    return ApiError(410, "Expired", CONTINUE_EXPIRED, metadata={"continue": token})

"""Call that a request asks of the API: kind, verb, namespace, name, read from its method and URL.

Rules of k8s.io/apiserver/pkg/endpoints/request/requestinfo.go. Where no kind is served at a path, the answer
is a text, not a Status (``http.NotFound``), in the API groups of custom resources too
(k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go); in a group of built-in kinds it is a
Status without the name of an object (k8s.io/apiserver/pkg/server/handler.go).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import PathNotFound, method_not_allowed, unknown_resource
from .kinds import Kind

VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Logged(NamedTuple):
    """One request as the log keeps it; status is 0 when the connection was dropped without an answer."""

    method: str
    path: str
    query: Mapping[str, str]
    status: int


@dataclass(frozen=True, slots=True)
class Call:
    """One request on a resource."""

    kind: Kind
    verb: str
    namespace: str
    """Empty: a cluster-scoped kind, or all namespaces."""
    name: str
    subresource: str
    query: Mapping[str, str]
    accept: str = ""
    content_type: str = ""
    body: bytes = field(default=b"", repr=False)

    @property
    def resource(self) -> str:
        """Plural with the sub-resource, as RBAC rules name it: ``routes/status``."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural

    @property
    def dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"


def is_true(text: str | None) -> bool:
    return text in ("true", "1", "True", "")


def parse_call(
    kinds: Sequence[Kind],
    method: str,
    path: str,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
) -> Call:
    """Raises: ApiError: 404 no such API or resource, 405."""
    base, parts = _split(path)
    same_version = [kind for kind in kinds if kind.base == base]
    if not same_version:
        raise PathNotFound
    watching = parts[:1] == ["watch"]  # the old form of ?watch=true
    kind, namespace, name, subresource = _resource(same_version, parts[1:] if watching else parts)
    return Call(
        kind,
        _verb(kind, method, name, subresource, watching or ("watch" in query and is_true(query["watch"]))),
        namespace,
        name,
        subresource,
        query,
        accept=headers.get("Accept", ""),
        content_type=headers.get("Content-Type", "").partition(";")[0].strip(),
        body=body,
    )


def unknown_kind(method: str, path: str, query: Mapping[str, str]) -> Call | None:
    """The call as authorization sees it where no such kind is served; None for a path of discovery.

    The server asks whether the user may before it looks for the kind, so without rights its absence is
    a 403: k8s.io/apiserver/pkg/server/config.go, DefaultBuildHandlerChain.
    """
    try:
        base, parts = _split(path)
    except PathNotFound:
        return None
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    group = base.split("/")[2] if base.startswith("/apis/") else ""
    name, subresource = (*parts[1:], "", "")[:2]
    kind = Kind(group, base.rpartition("/")[2], "", parts[0])
    verb = VERBS.get(method, method.lower())
    if verb == "get" and not name:
        verb = "watch" if "watch" in query and is_true(query["watch"]) else "list"
    return Call(kind, verb, namespace, name, subresource, query)


def _split(path: str) -> tuple[str, list[str]]:
    """(``/apis/route.openshift.io/v1``, the segments behind it)."""
    segments = [segment for segment in path.split("/") if segment]
    length = 3 if segments[:1] == ["apis"] else 2
    if segments[:1] not in (["api"], ["apis"], ["oapi"]) or len(segments) <= length:
        raise PathNotFound
    return "/" + "/".join(segments[:length]), segments[length:]


def _resource(kinds: Sequence[Kind], parts: list[str]) -> tuple[Kind, str, str, str]:
    by_plural = {kind.plural: kind for kind in kinds}
    namespace = ""
    if not parts:
        raise unknown_resource()
    # namespaces/x/status is the Namespace's own sub-resource
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    kind = by_plural.get(parts[0])
    if kind is None and all(served.custom for served in kinds):
        raise PathNotFound
    if kind is None or (namespace and not kind.namespaced) or len(parts) > 3:
        raise unknown_resource()
    name, subresource = (*parts[1:], "", "")[:2]
    if subresource and not (subresource == "status" and kind.status):
        raise unknown_resource()
    if name and kind.namespaced and not namespace:
        raise unknown_resource()
    if kind.kind == "Namespace":
        namespace = ""
    return kind, namespace, name, subresource


def _verb(kind: Kind, method: str, name: str, subresource: str, watching: bool) -> str:
    verb = VERBS.get(method)
    if verb == "get" and (watching or not name):
        verb = "watch" if watching else "list"
    elif verb == "delete" and not name:
        verb = "deletecollection"
    allowed = ("get", "update", "patch") if subresource else kind.verbs
    named = bool(name)
    if verb not in allowed or (verb in ("update", "patch") and not named) or (verb == "create" and named):
        raise method_not_allowed()
    return verb

"""Discovery, where the server tells about itself: version, groups, resources, OpenAPI."""

from collections.abc import Sequence

from .kinds import Kind

VERSION = {
    "major": "1",
    "minor": "29",
    "gitVersion": "v1.29.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2024-01-01T00:00:00Z",
    "goVersion": "go1.21.5",
    "compiler": "gc",
    "platform": "linux/amd64",
}

PROTOBUF_SCHEMA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def document(kinds: Sequence[Kind], path: str) -> dict | None:
    """The discovery document at a path; None if there is none."""
    parts = [segment for segment in path.split("/") if segment]
    versions = sorted({(kind.group, kind.version) for kind in kinds if not kind.legacy})
    bases = {kind.base for kind in kinds}
    match parts:
        case ["version"]:
            return VERSION
        case []:
            return {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/openapi/v2", "/version"]}
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            named = dict.fromkeys(group for group, _ in versions if group)
            groups = [_group(versions, name) for name in named]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            is_known = any(name == group for name, _ in versions)
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(versions, group)} if is_known else None
        case ["api" | "oapi", _] | ["apis", _, _] if f"/{'/'.join(parts)}" in bases:
            return _resources(kinds, f"/{'/'.join(parts)}")
        case ["openapi", "v2"]:
            return {"swagger": "2.0", "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
                    "paths": _paths(kinds, schema=2)}  # fmt: skip
        case ["openapi", "v3"]:
            urls = (f"{'apis' if group else 'api'}{'/' if group else ''}{group}/{v}" for group, v in versions)
            return {"paths": {url: {"serverRelativeURL": f"/openapi/v3/{url}"} for url in urls}}
        case ["openapi", "v3", "api" | "apis", *rest]:
            served = [kind for kind in kinds if kind.api_version == "/".join(rest)]
            info = {"title": "Kubernetes", "version": VERSION["gitVersion"]}
            return {"openapi": "3.0.0", "info": info, "paths": _paths(served, schema=3)} if served else None
    return None


def _group(versions: Sequence[tuple[str, str]], name: str) -> dict:
    """Args: versions: groups and versions."""
    offered = [{"groupVersion": f"{name}/{version}", "version": version}
               for group, version in versions if group == name]  # fmt: skip
    return {"name": name, "versions": offered, "preferredVersion": offered[0]}


def _resources(kinds: Sequence[Kind], base: str) -> dict:
    kinds = [kind for kind in kinds if kind.base == base]
    rows = []
    for kind in kinds:
        row = {"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
               "kind": kind.kind, "verbs": list(kind.verbs)}  # fmt: skip
        rows.append(row | ({"shortNames": list(kind.short_names)} if kind.short_names else {}))
        if kind.status:
            verbs = ["get", "patch", "update"]
            rows.append(row | {"name": f"{kind.plural}/status", "singularName": "", "verbs": verbs})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version,
            "resources": rows}  # fmt: skip


def _paths(kinds: Sequence[Kind], *, schema: int) -> dict:
    """The PATCH of every kind: kubectl reads there whether the server validates fields itself."""
    paths = {}
    for kind in kinds:
        if not kind.stored:
            continue
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        parameter = {"name": "fieldValidation", "in": "query"}
        parameter |= {"type": "string"} if schema == 2 else {"schema": {"type": "string"}}
        dry_run = dict(parameter, name="dryRun")
        paths[f"{kind.base}{scope}/{kind.plural}/{{name}}"] = {
            "patch": {
                "parameters": [parameter, dry_run],
                "responses": {"200": {"description": "OK"}},
                "x-kubernetes-group-version-kind": {
                    "group": kind.group, "version": kind.version, "kind": kind.kind,
                },
            }
        }  # fmt: skip
    return paths

"""The four patch types of the API server, as functions from an object to a new object."""

import json
from collections.abc import Callable, Mapping

import jsonpatch
import yaml

from .errors import ApiError, bad_request, unsupported_media
from .kinds import Kind

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "ports": ("port", "containerPort"),
    "conditions": ("type",),
    "addresses": ("type",),
    "taints": ("key",),
    "ownerReferences": ("uid",),
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
}
"""Lists that a strategic merge patch merges by key; it replaces every other list. From the patchMergeKey
tags of k8s.io/api/core/v1/types.go, by field name alone: the same name has one key in all kinds here."""

UNMERGED = frozenset({"Endpoints", "EndpointSlice", "Route", "Ingress"})
"""Kinds without such lists below metadata: Endpoints has ``ports`` and ``addresses`` that are replaced."""


def patched(kind: Kind, current: dict, content_type: str, body: bytes) -> dict:
    """The object after a patch; ``current`` stays as it is.

    Raises: ApiError: 400 unreadable, 415 unknown type, 422 JSON patch that does not apply.
    """
    apply = _by_type(kind).get(content_type)
    if apply is None:
        raise unsupported_media(sorted(_by_type(kind)))
    return apply(current, parse(body, content_type))


def parse(body: bytes, content_type: str) -> object:
    """Raises: ApiError: 400."""
    try:
        return yaml.safe_load(body) if "yaml" in content_type else json.loads(body)
    except (ValueError, yaml.YAMLError) as exc:
        raise bad_request(f"error decoding patch: {exc}") from exc


def _by_type(kind: Kind) -> Mapping[str, Callable[[dict, object], dict]]:
    types = {JSON_PATCH: json_patch, MERGE: merge, APPLY: merge}
    if not kind.custom:  # the schema of a custom resource has no merge keys
        keys = {"ownerReferences": MERGE_KEYS["ownerReferences"]} if kind.kind in UNMERGED else MERGE_KEYS
        types[STRATEGIC] = lambda target, patch: strategic_merge(target, patch, keys)
    return types


def merge(target: object, patch: object) -> object:
    """JSON merge patch, RFC 7396. Server-side apply uses it too: no field owners are kept."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def json_patch(target: dict, patch: object) -> dict:
    """JSON patch, RFC 6902.

    Raises: ApiError: 400 not a patch, 422 a path or test that does not fit the object.
    """
    try:
        return jsonpatch.JsonPatch(patch).apply(target)
    except (jsonpatch.InvalidJsonPatch, TypeError) as exc:
        raise bad_request(f"error decoding patch: {exc}") from exc
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as exc:
        message = f"the server rejected our request due to an error in our request: {exc}"
        raise ApiError(422, "Invalid", message) from exc


def strategic_merge(
    target: object, patch: object, keys: Mapping[str, tuple[str, ...]] = MERGE_KEYS
) -> object:
    """Strategic merge patch: merge, with lists merged by key and the directives ``kubectl apply`` writes.

    Order hints (``$setElementOrder``) are dropped; new elements go to the end.
    """
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    result = dict(target) if isinstance(target, dict) else {}
    kept = patch.get("$retainKeys")
    if kept is not None:
        result = {name: value for name, value in result.items() if name in kept}
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            field = name.partition("/")[2]
            result[field] = [item for item in result.get(field, ()) if item not in value]
        elif name.startswith("$"):
            continue
        elif value is None:
            result.pop(name, None)
        elif isinstance(value, list) and name == "finalizers":
            result[name] = list(dict.fromkeys([*result.get(name, ()), *value]))
        elif isinstance(value, list) and name in keys:
            result[name] = _merge_list(result.get(name) or [], value, keys[name], keys)
        else:
            result[name] = strategic_merge(result.get(name), value, keys)
    return result


def _merge_list(target: list, patch: list, names: tuple[str, ...], keys: Mapping) -> list:
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = list(target)
    for item in patch:
        key = next((name for name in names if name in item), None)
        if key is None:
            raise bad_request(f"map: {item} does not contain declared merge key: {names[0]}")
        index = next((i for i, old in enumerate(result) if old.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            if index is not None:
                del result[index]
        elif index is None:
            result.append(strategic_merge({}, item, keys))
        else:
            result[index] = strategic_merge(result[index], item, keys)
    return result

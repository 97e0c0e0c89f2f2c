"""POST, PUT, PATCH and DELETE: checks on the request, then one write through Objects."""

import base64
import binascii
import json
import re
from collections.abc import Mapping

import yaml

from . import errors, patches, protobuf
from .calls import Call
from .causes import invalid, required, subdomain_rules
from .defaults import with_defaults, with_status_defaults
from .kinds import Kind, kind_named
from .objects import Objects
from .route_validation import route_type_fault
from .sdn import hostsubnet_faults, hostsubnet_schema_faults
from .selectors import selection
from .store import Record, Store
from .validation import faults

MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
JSON_TYPES = ("application/json", "application/yaml")


def create(store: Store, objects: Objects, call: Call) -> Record:
    """Raises: ApiError: 400, 404 no such namespace, 409 exists, 415, 422."""
    data = body_of(call)
    metadata = data["metadata"]
    if metadata.get("resourceVersion"):
        raise errors.bad_request("resourceVersion should not be set on objects to be created")
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = objects.generated_name(metadata["generateName"])
    return _create(store, objects, call, data)


def _create(store: Store, objects: Objects, call: Call, data: dict) -> Record:
    kind, name = call.kind, data["metadata"].get("name", "")
    _check_name(kind, name)
    if call.namespace and store.get(kind_named("Namespace"), "", call.namespace) is None:
        raise errors.not_found(kind_named("Namespace"), call.namespace)
    if store.get(kind, call.namespace, name):
        raise errors.already_exists(kind, name)
    if kind.status and not kind.status_on_create:
        data = {key: value for key, value in data.items() if key != "status"}
    return objects.create(kind, _completed(store, kind, data), dry_run=call.dry_run)


def update(store: Store, objects: Objects, call: Call) -> tuple[Record, bool]:
    """PUT of an object or its status. Returns the record and whether it is new.

    The uid of an object is a condition also where a PUT would create it: Preconditions of
    k8s.io/apiserver/pkg/registry/rest/update.go, checked by GuaranteedUpdate of pkg/storage/etcd3/store.go.

    Raises: ApiError: 400, 404, 409 stale resourceVersion or other uid, 415, 422.
    """
    data = body_of(call)
    name = data["metadata"].setdefault("name", call.name)
    if name != call.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )
    current = store.get(call.kind, call.namespace, call.name)
    if current is None:
        if call.kind.create_on_update and not call.subresource:
            if uid := data["metadata"].get("uid"):
                why = f"UID in precondition: {uid}, UID in object meta: "
                raise errors.conflict(call.kind, call.name, f"Precondition failed: {why}")
            data["metadata"].pop("resourceVersion", None)
            return _create(store, objects, call, data), True
        raise errors.not_found(call.kind, call.name)
    if not data["metadata"].get("resourceVersion") and not call.kind.unconditional_update:
        cause = ("FieldValueInvalid", "Invalid value: 0x0: must be specified for an update",
                 "metadata.resourceVersion")  # fmt: skip
        raise errors.invalid(call.kind, call.name, [cause])
    return _write(store, objects, call, current, data), False


def patch(store: Store, objects: Objects, call: Call) -> tuple[Record, bool]:
    """PATCH of an object or its status. Returns the record and whether it is new (server-side apply).

    Raises: ApiError: 400, 404, 409 the patch names another resourceVersion or uid, 415, 422.
    """
    current = store.get(call.kind, call.namespace, call.name)
    applying = call.content_type == patches.APPLY
    if applying and not call.query.get("fieldManager"):
        raise errors.bad_request("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: "
                                 "is required for apply patch")  # fmt: skip
    if current is None:
        if applying and not call.subresource:
            return _create(store, objects, call, body_of(call)), True
        raise errors.not_found(call.kind, call.name)
    data = patches.patched(call.kind, current.data, call.content_type, call.body)
    if not isinstance(data, dict) or not isinstance(data.get("metadata"), dict):
        raise errors.bad_request("the patched object has no metadata")
    _check_type(call.kind, data)
    if data["metadata"].get("name") != call.name or data["metadata"].get("namespace", "") != call.namespace:
        raise errors.bad_request("the patch changes the object's name or namespace")
    if why := _undecodable(call.kind, data):
        raise errors.bad_patch(json.dumps(data, separators=(",", ":")), why)
    return _write(store, objects, call, current, data), False


def _write(store: Store, objects: Objects, call: Call, current: Record, data: dict) -> Record:
    _check_preconditions(call.kind, current, data["metadata"])
    if call.subresource == "status":
        data = with_status_defaults(call.kind, _with_status(current.data, data.get("status")))
        return objects.replace(current, data, dry_run=call.dry_run)
    if call.kind.status:
        data = _with_status(data, current.data.get("status"))
    if call.kind.kind == "Route" and not (data.get("spec") or {}).get("host"):
        # openshift-apiserver ignores attempts to clear the host
        data = dict(
            data, spec=dict(data.get("spec") or {}, host=(current.data.get("spec") or {}).get("host"))
        )
    data = _completed(store, call.kind, data, current.data)
    return objects.replace(current, data, dry_run=call.dry_run)


def delete(store: Store, objects: Objects, call: Call) -> tuple[Record, Record | None]:
    """Returns the object, and its state if finalizers keep it.

    Raises: ApiError: 404, 409 precondition failed.
    """
    record = store.get(call.kind, call.namespace, call.name)
    if record is None:
        raise errors.not_found(call.kind, call.name)
    options = _json(call) if call.body else {}
    _check_preconditions(call.kind, record, options.get("preconditions") or {})
    return record, objects.delete(record, dry_run=call.dry_run)


def delete_collection(store: Store, objects: Objects, call: Call) -> list[Record]:
    """Returns the deleted objects. Raises: ApiError: 400."""
    chosen = selection(call.kind, call.namespace, "", call.query)
    records = [record for record in store.records(call.kind) if chosen.takes(record)]
    for record in records:
        objects.delete(record, dry_run=call.dry_run)
    return records


def body_of(call: Call) -> dict:
    """The object in the body, under the kind and namespace of the URL.

    Raises: ApiError: 400, 415.
    """
    data = _json(call)
    _check_type(call.kind, data)
    if why := _undecodable(call.kind, data):
        name, version = call.kind.kind, call.kind.version
        raise errors.bad_request(f'{name} in version "{version}" cannot be handled as a {name}: {why}')
    metadata = data.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise errors.bad_request("metadata is not an object")
    if call.kind.namespaced:
        if metadata.get("namespace", call.namespace) != call.namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = call.namespace
    data["metadata"] = metadata
    return data


def _json(call: Call) -> dict:
    if call.content_type == protobuf.MEDIA_TYPE and call.kind.kind == "Secret":
        try:
            return protobuf.secret(call.body)
        except (ValueError, KeyError) as exc:
            raise errors.bad_request(f"error decoding the body: {exc}") from exc
    if call.content_type not in ("", *JSON_TYPES, patches.APPLY):
        raise errors.unsupported_media(JSON_TYPES)
    try:
        data = yaml.safe_load(call.body) if "yaml" in call.content_type else json.loads(call.body)
    except (ValueError, yaml.YAMLError) as exc:
        raise errors.bad_request(f"error decoding the body: {exc}") from exc
    if not isinstance(data, dict):
        raise errors.bad_request("the body is not an object")
    return data


def _check_type(kind: Kind, data: Mapping) -> None:
    given = (data.get("apiVersion") or kind.api_version, data.get("kind") or kind.kind)
    if given != (kind.api_version, kind.kind):
        raise errors.bad_request(f'{given[1]} in version "{given[0]}" cannot be handled as a {kind.kind}')


def _undecodable(kind: Kind, data: Mapping) -> str:
    """Why the server's Go types cannot hold an object, where a router depends on it; "" if they can."""
    if kind.kind == "Route":
        return route_type_fault(data)
    if kind.kind == "Lease":
        return _time_fault(data.get("spec") or {})
    held = data.get("data") if kind.kind == "Secret" else None
    for text in (held or {}).values():
        try:
            base64.b64decode(text or "", validate=True)
        except (binascii.Error, TypeError, ValueError):
            return "illegal base64 data at input byte 0"
    return ""


def _time_fault(spec: Mapping) -> str:
    """Why times of a Lease are no MicroTime, which has six digits of a second: kubernetes #141204."""
    for name in ("acquireTime", "renewTime"):
        text = spec.get(name)
        if text is not None and not (isinstance(text, str) and MICRO_TIME.fullmatch(text)):
            return f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse'
    return ""


def _check_name(kind: Kind, name: str) -> None:
    if not name:
        cause = required("metadata.name", "name or generateName is required")
        raise errors.invalid(kind, name, [cause])
    if kind.any_name and name not in (".", "..") and not set(name) & {"/", "%"}:
        return
    if rules := subdomain_rules(name):
        raise errors.invalid(kind, name, [invalid("metadata.name", name, rule) for rule in rules])


def _check_preconditions(kind: Kind, current: Record, wanted: Mapping) -> None:
    metadata = current.data["metadata"]
    if wanted.get("uid") and wanted["uid"] != metadata["uid"]:
        why = f"UID in precondition: {wanted['uid']}, UID in object meta: {metadata['uid']}"
        raise errors.conflict(kind, metadata["name"], f"Precondition failed: {why}")
    if wanted.get("resourceVersion") and wanted["resourceVersion"] != metadata["resourceVersion"]:
        raise errors.conflict(kind, metadata["name"])


def _with_status(data: Mapping, status: object) -> dict:
    rest = {key: value for key, value in data.items() if key != "status"}
    return rest if status is None else rest | {"status": status}


def _completed(store: Store, kind: Kind, data: dict, current: Mapping | None = None) -> dict:
    """With the server's defaults. Raises: ApiError: 422."""
    uid = ((current or {}).get("metadata") or {}).get("uid")
    services = [record.data for record in (store.records(kind) if kind.kind == "Service" else ())
                if record.data["metadata"]["uid"] != uid]
    data = with_defaults(kind, data, services, current)
    if kind.kind == "HostSubnet":
        judged = hostsubnet_schema_faults if store.network_api == "crd" else hostsubnet_faults
        causes_ = judged(data, current)
    else:
        causes_ = faults(kind, data, current, services)
    if causes_:
        raise errors.invalid(kind, data["metadata"]["name"], causes_)
    return data

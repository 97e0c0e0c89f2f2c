"""The object of the cluster that an object of the BIG-IP is for, by its name: so a delete has one, too."""

from f5router.model import names, option_records
from f5router.model.cluster import Key
from f5router.model.ltm import CertFile, ClientSSL, KeyFile, Object, Pool, Record, Rule
from f5router.model.net import FDBRecord, StaticRoute

_BY_POOL = (names.REENCRYPT_GROUP, *option_records.BY_POOL)
_BY_HOST = (names.PASSTHROUGH_GROUP, names.SERVER_NAME_GROUP)


def cause(obj: Object) -> str:
    """Return the object of the cluster that an object is for; "" if it is for none, or for several."""
    match obj:
        case Rule(name=name):
            return _route(name.partition("__")[0])
        case CertFile(path=path) | KeyFile(path=path) if names.file_namespace(path):
            return _route(path.rpartition("/")[2].rpartition("-https-")[0])
        case Pool(path=path):
            return _service(path)
        case ClientSSL(server_name=host):
            return f"host {host}" if host else ""
        case Record(group=group, name=name) if group.endswith(_BY_POOL) and name.startswith("/"):
            return _service(name)
        case Record(name=names.STRICT):
            return ""
        case Record(group=group, name=name) if group.endswith((*_BY_HOST, *_BY_POOL)):
            return f"host {names.passthrough_host(name)}"
        case FDBRecord(endpoint=endpoint):
            return f"Node {endpoint}"
        case StaticRoute(gateway=gateway):
            return f"Node {gateway}"
    return ""


def _route(stem: str) -> str:
    """Return the Route of the stem of a name; its namespace, if the stem was shortened."""
    key = names.route_key(stem)
    return names.label(key, "Route") if key else f"namespace {names.rule_namespace(stem)}"


def _service(path: str) -> str:
    """Return the Service of a pool; "" if its name was shortened."""
    path = path if path.rpartition("/")[2].startswith("openshift_") else path.rpartition("/")[0]
    folder = path.rpartition("/")[0]
    known: tuple[Key, *tuple[str, ...]] | None = (
        names.pool_key(folder, path) or names.own_pool_key(folder, path))
    return f"Service {known[0]}" if known else ""

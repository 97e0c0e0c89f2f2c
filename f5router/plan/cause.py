"""The object of the cluster that an object of the BIG-IP is for, by its name: so a delete has one, too."""

from f5router.model import names, ownership, tls_names
from f5router.model.cluster import Key
from f5router.model.ltm import Attachment, CertFile, ClientSSL, KeyFile, Object, Pool, Record, Rule
from f5router.model.net import FDBRecord, StaticRoute

_BY_POOL = (names.REENCRYPT_GROUP, *ownership.OPTIONS_BY_POOL)
_BY_HOST = (names.PASSTHROUGH_GROUP, names.SERVER_NAME_GROUP, names.OWNER_GROUP)


def cause(obj: Object) -> str:
    """Return the object of the cluster that an object is for; "" if it is for none, or for several."""
    match obj:
        case Rule(name=name):
            return _route(name.partition("__")[0])
        case CertFile(path=path) | KeyFile(path=path) if tls_names.file_namespace(path):
            return _owner_of_file(path.rpartition("/")[2].rpartition("-https-")[0])
        case Pool(path=path):
            return _service(path)
        case ClientSSL(server_name=host):
            return f"host {host}" if host else ""
        case Attachment(target=path, target_kind=ClientSSL.KIND):
            return _host(path)
        case Record(group=group, name=name) if group.endswith(_BY_POOL) and name.startswith("/"):
            return _service(name)
        case Record(name=names.STRICT | names.OWNERS_KNOWN):
            return ""
        case Record(group=group, name=name) if group.endswith((*_BY_HOST, *_BY_POOL)):
            return f"host {names.passthrough_host(name)}"
        case FDBRecord(endpoint=address) | StaticRoute(gateway=address, node=""):
            return f"the Node at {address}"  # several Nodes may have it
        case StaticRoute(node=node):
            return f"Node {node}"
    return ""


def _route(stem: str) -> str:
    """Return the Route of the stem of a name; its namespace, if the stem was shortened."""
    key = names.route_key(stem)
    return names.label(key, "Route") if key else f"namespace {names.rule_namespace(stem)}"


def _owner_of_file(stem: str) -> str:
    """Return the Route of a file, or the Secret of which the files of virtual Routes are made."""
    owner = _route(stem)
    kind = names.virtual_kind(stem)
    return f"Secret {names.rule_namespace(stem)}/{owner.rpartition('/')[2]}" if kind else owner


def _host(path: str) -> str:
    """Return the host of a client SSL profile; "" if its name was shortened, or it is for none."""
    folder, _, name = path.rpartition("/")
    for prefix, wildcard in (("openshift_host_", ""), ("openshift_wildcard_", "*.")):
        host = wildcard + name.removeprefix(prefix).removesuffix("-client-ssl-profile")
        if "._" not in host and tls_names.client_ssl(folder, host) == path:
            return f"host {host}"
    return ""


def _service(path: str) -> str:
    """Return the Service of a pool; "" if its name was shortened."""
    path = path if path.rpartition("/")[2].startswith("openshift_") else path.rpartition("/")[0]
    folder = path.rpartition("/")[0]
    known: tuple[Key, *tuple[str, ...]] | None = (
        names.pool_key(folder, path) or names.own_pool_key(folder, path))
    return f"Service {known[0]}" if known else ""

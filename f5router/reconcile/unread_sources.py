"""Objects of sources that are not known: Ingresses or IngressRoutes that are not listed, or forbidden.

Objects that serve them stay as they are. If another namespace has got a Host meanwhile, its Route takes the
Host nevertheless: previous_objects.foreign_objects.
"""

from collections.abc import Collection, Iterable

from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    Forward,
    KeyFile,
    Object,
    Record,
    Rule,
)
from f5router.model.objects import Ref


def held(engine: Engine, observed: BigIPState, refs: Iterable[Ref]) -> frozenset[Ref]:
    """Return those of these objects that nobody wants, but perhaps an object that is not known."""
    kinds = engine.cluster.sources_unread
    unwanted = [] if not kinds else [ref for ref in refs if ref in observed and ref not in engine.objects]
    if not unwanted:
        return frozenset()
    rules = [obj for obj in observed.values() if isinstance(obj, Rule) and _is_of(kinds, obj.name)]
    pools = {rule.action.pool for rule in rules if isinstance(rule.action, Forward)}
    secured = {host for rule in rules if rule.policy.endswith(f"/{names.SECURE_POLICY}")
               for host in rule.hosts}

    def shows_certificate(profile: str) -> bool:
        obj = observed.get(Ref(ClientSSL.KIND, profile))
        return isinstance(obj, ClientSSL) and _is_of(kinds, obj.cert)

    def stays(obj: Object) -> bool:
        match obj:
            case Rule(name=name):
                return _is_of(kinds, name)
            case CertFile(path=path) | KeyFile(path=path):
                return _is_of(kinds, path)
            case ClientSSL(cert=cert):
                return _is_of(kinds, cert)
            case Attachment(target_kind=ClientSSL.KIND, target=target):
                return shows_certificate(target)
            case Record(group=group, name=name) if group.endswith(f"/{names.SERVER_NAME_GROUP}"):
                folder, host = group.rpartition("/")[0], names.passthrough_host(name)
                return shows_certificate(names.client_ssl(folder, host))
            case Record():
                return _is_record_of(engine, obj, pools, secured)
            case _:
                return False

    return frozenset(ref for ref in unwanted if stays(observed[ref]))


def _is_of(kinds: Collection[str], name: str) -> bool:
    return names.virtual_kind(name) in kinds


def _is_record_of(engine: Engine, record: Record, pools: Collection[str], secured: Collection[str]) -> bool:
    """True if a record may belong to an object that is not known.

    Passthrough records do not show of which kind their Route was: each stays whose Host nobody has.

    Args:
        pools: those that Rules lead to which stay.
        secured: Hosts of such Rules for decrypted requests.
    """
    if record.group.endswith(f"/{names.REENCRYPT_GROUP}"):
        return record.name in pools or record.name.rpartition("/")[0] in pools
    if not record.group.endswith(f"/{names.PASSTHROUGH_GROUP}"):
        return False
    if record.data == names.EXCLUSION:
        return record.name in secured
    return not engine.host_routes(names.passthrough_host(record.name))

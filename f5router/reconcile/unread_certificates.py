"""Profiles of server names of certificates in Secrets that are not read: their names are not known, either.

A listener with several certificates has a profile for each of their names. One that is on the device stays
while its Secret is not read.
"""

from collections.abc import Iterable

from f5router.desired.engine import Engine
from f5router.model.ltm import Attachment, BigIPState, ClientSSL
from f5router.model.objects import Ref


def held(engine: Engine, observed: BigIPState, refs: Iterable[Ref]) -> frozenset[Ref]:
    """Return the unused profiles, and their attachments, that such a certificate may need."""
    if not engine.front_ends.unread:
        return frozenset()
    unused = (ref for ref in refs if ref not in engine.objects)
    return frozenset(ref for ref in unused if _may_be_shown(engine, observed, ref))


def _may_be_shown(engine: Engine, observed: BigIPState, ref: Ref) -> bool:
    obj = observed.get(ref)
    if isinstance(obj, Attachment) and obj.target_kind == ClientSSL.KIND:
        obj = observed.get(Ref(ClientSSL.KIND, obj.target))
    return isinstance(obj, ClientSSL) and engine.front_ends.may_be_shown(obj)

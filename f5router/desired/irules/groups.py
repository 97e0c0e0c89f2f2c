"""iRules of front ends: each has texts of its own, which name its data-groups."""

import functools
import re
from collections.abc import Collection

from f5router.model import names
from f5router.model.front_end_names import FrontEndPlace, named
from f5router.model.ltm import IRule
from f5router.model.objects import Ref

_GROUPS = (names.PASSTHROUGH_GROUP, names.REENCRYPT_GROUP, names.LIMITS_GROUP, names.TIMEOUT_GROUP,
           names.PERSISTENCE_GROUP, names.HTTP_GROUP, names.SERVER_NAME_GROUP)
"""Data-groups of a front end that iRules name."""


def own_irule(config: FrontEndPlace, path: str, text: str, needs: Collection[Ref] = ()) -> IRule:
    """Build an iRule of a front end. Args: text: as it is without a front end's name; needs: its groups."""
    return IRule(path, _of_front_end(text, config.folder, config.front_end),
                 extra_dependencies=frozenset(needs))


@functools.lru_cache(maxsize=64)
def _of_front_end(text: str, folder: str, front_end: str) -> str:
    """Return a text with the full paths of a front end's data-groups."""
    if not front_end:
        return text
    paths = "|".join(re.escape(f"{folder}/{group}") for group in _GROUPS)
    return re.sub(rf"(?:{paths})\b", lambda match: named(match[0], front_end), text)

"""The setting by which the administrator lets annotations be ignored that would refuse an Ingress."""

import re

from f5router.admission import annotations
from f5router.admission.foreign import controllers


def parse(text: str) -> frozenset[str]:
    """Parse annotations, or DOMAIN/*, with commas or blanks between them.

    Raises: ValueError: one is no annotation of a controller that is known, or this router carries it out.
    """
    entries = frozenset(filter(None, re.split(r"[,\s]+", text)))
    for entry in sorted(entries):
        known = controllers.is_foreign(entry) or entry.startswith(controllers.PREFIXES)
        if not known or entry in annotations.READ or "*" in entry.removesuffix("/*"):
            raise ValueError(f"{entry!r} is neither an annotation of another controller, such as "
                             "nginx.ingress.kubernetes.io/auth-url, nor all of one: DOMAIN/*")
    return entries

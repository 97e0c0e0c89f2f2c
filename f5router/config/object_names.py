"""Names of objects in the cluster."""

import re

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def object_name(text: str) -> str:
    """Check a name of an object. Raises: ValueError."""
    if not _SUBDOMAIN.fullmatch(text):
        raise ValueError(f"{text!r} cannot be the name of an object in the cluster")
    return text

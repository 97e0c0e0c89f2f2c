"""Identity of a BIG-IP object."""

from typing import NamedTuple


class Ref(NamedTuple):
    """Identity of an object: two kinds may use one path on a BIG-IP."""

    kind: str
    """REST collection below /mgmt/tm, or for parts the collection and the part."""
    path: str
    """Full path; for parts <path of the whole>/<kind of part>/<name>."""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

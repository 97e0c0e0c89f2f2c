"""Identity and dependencies of a BIG-IP object."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple


class Ref(NamedTuple):
    """Identity of an object: two kinds may use one path on a BIG-IP."""

    kind: str
    """REST collection below /mgmt/tm, or for parts the collection and the part."""
    path: str
    """Full path; for parts <path of the whole>/<kind of part>/<name>."""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


class BigIPObject:
    """Base of the frozen values in `ltm` and `net`."""

    __slots__ = ()
    KIND: ClassVar[str]
    """The kind of its Ref."""

    @property
    def ref(self) -> Ref:
        """Identity of the object."""
        raise NotImplementedError

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        """Objects that must be on the device before this one, and be deleted after it."""
        return ()


@dataclass(frozen=True, slots=True)
class NamedObject(BigIPObject):
    """An object with a path of its own, unlike an item nested in another object."""

    path: str
    """Full path: folder and name."""

    @property
    def ref(self) -> Ref:
        """Identity of the object."""
        return Ref(self.KIND, self.path)

"""Identity and dependencies of a BIG-IP object, and digests for names."""

import functools
import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, TypeVar


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

    __slots__ = ("_ref",)
    KIND: ClassVar[str]
    """The kind of its Ref."""
    _ref: Ref

    @property
    def ref(self) -> Ref:
        """Identity of the object, made once: what has the object for its key needs no other copy."""
        try:
            return self._ref
        except AttributeError:
            ref = self._make_ref()
            object.__setattr__(self, "_ref", ref)
            return ref

    def _make_ref(self) -> Ref:
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

    def _make_ref(self) -> Ref:
        return Ref(self.KIND, self.path)


T = TypeVar("T", bound=BigIPObject)


def with_ref_of(known: BigIPObject, obj: T) -> T:
    """Return an object that shares its Ref in memory with a known one, whose Ref is equal."""
    object.__setattr__(obj, "_ref", known.ref)
    return obj


def changed(obj: T, **changes: Any) -> T:
    """Return an object with other properties, but with its identity."""
    return with_ref_of(obj, replace(obj, **changes))  # type: ignore[type-var]  # each is a dataclass


@functools.lru_cache(maxsize=64)
def common_path(folder: str, name: str) -> str:
    """Return the full path of an object that many refer to, as one text in memory for all of them."""
    return f"{folder}/{name}"


@functools.lru_cache(maxsize=256)
def shared(refs: frozenset[Ref]) -> frozenset[Ref]:
    """Return an equal set, so that objects with equal dependencies share one set in memory."""
    return refs


def digest(text: str, digits: int = 16) -> str:
    """Return hexadecimal digits of the SHA-256 digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:digits]

"""The status of an object of the cluster, as far as the router knows it."""

from dataclasses import dataclass

from f5router.model.json_types import JSON


@dataclass(frozen=True, slots=True)
class KnownStatus:
    """The status of an object as it was read or written last."""

    uid: str
    version: int
    """resourceVersion. Source: Kubernetes API concepts: those of one resource compare as integers."""
    status: JSON

    @classmethod
    def read(cls, uid: str, resource_version: str, status: JSON) -> "KnownStatus":
        """Return the status of an object as it was read; a version that is no number counts as the oldest."""
        return cls(uid, int(resource_version) if resource_version.isdecimal() else 0, status)

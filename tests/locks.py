"""The files that name each package of the image with its version and its hashes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
RUN, BUILD = "requirements.lock", "requirements-build.lock"
FILES = (RUN, BUILD)


@dataclass(frozen=True)
class Pin:
    """One package of a lock."""

    requirement: Requirement
    hashes: tuple[str, ...]

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """"" if the lock does not name exactly one."""
        (only,) = self.requirement.specifier or [None]
        return only.version if only and only.operator == "==" and "*" not in only.version else ""

    def applies(self, environment: Mapping[str, str] | None = None) -> bool:
        """True if the package is needed there, or by this Python."""
        marker = self.requirement.marker
        return marker is None or marker.evaluate(dict(environment or {}))


def read(name: str) -> list[Pin]:
    """Raises: ValueError: a line is no requirement with hashes."""
    pins = []
    lines = re.sub(r"\\\n *", " ", (ROOT / name).read_text()).splitlines()
    for line in (line for line in lines if line and not line.lstrip().startswith("#")):
        requirement, *hashes = re.split(r" +--hash=", line)
        pins.append(Pin(Requirement(requirement), tuple(hashes)))
    return pins

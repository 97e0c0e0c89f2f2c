"""Certificates and keys for libraries that take paths only: files in memory.

Apart from kubeconfig.py, which imports the kubernetes package: each start of a command reads the settings.
"""

import os
import weakref
from collections.abc import Mapping


class MemoryFiles:
    """Files with a path, but not on a disk; they end with this object, and with the process.

    Source: memfd_create(2); proc(5), /proc/pid/fd.
    """

    def __init__(self) -> None:
        self._descriptors: dict[bytes, int] = {}
        weakref.finalize(self, _close, self._descriptors)

    def path(self, content: bytes) -> str:
        """Return the path of a file with this content, for this process alone."""
        if content not in self._descriptors:
            descriptor = os.memfd_create("f5router")
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            self._descriptors[content] = descriptor
        return _path(self._descriptors[content])

    def has(self, path: str) -> bool:
        """True if a path is one of these files."""
        return path in map(_path, self._descriptors.values())


def _path(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def _close(descriptors: Mapping[bytes, int]) -> None:
    for descriptor in descriptors.values():
        os.close(descriptor)

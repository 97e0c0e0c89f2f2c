"""Containers without a runtime: a file system of its own, all of it read-only, a user without
rights, and no variables but the container's.

A private mount namespace takes it away with the process (mount_namespaces(7)). The network is the machine's.
The system below the image is the machine's /usr and the interpreter of the tests, as /usr/local/bin/python.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.waiting import DEADLINE_S

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
READ_ONLY, WRITABLE = "ro", "rw"

START = r"""
set -eu
root=$1 mounts=$2
shift 2
mount -t tmpfs -o mode=755 tmpfs "$root"
while read -r mode source target; do
  if [ -d "$source" ]; then mkdir -p "$root$target"; else touch "$root$target"; fi
  mount --rbind "$source" "$root$target"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$root$target"
done < "$mounts"
for name in bin lib lib64 sbin; do
  if [ -L "/$name" ]; then
    cp -P "/$name" "$root/"
  elif [ -d "/$name" ]; then
    mkdir "$root/$name"
    mount --rbind -o ro "/$name" "$root/$name"
  fi
done
mount -o remount,ro "$root"
exec chroot "$root" "$@"
"""
"""Arguments: the folder for the tree, a file with mode, source and target of each mount, the command."""


class NotPermitted(Exception):
    """This system does not let us mount anything; the message says why."""


def require() -> None:
    """Raises: NotPermitted."""
    if os.geteuid():
        raise NotPermitted("only root may mount and change users")
    tried = subprocess.run([*_unshared(), "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True,
                           text=True, timeout=DEADLINE_S)
    if tried.returncode:
        raise NotPermitted(tried.stderr.strip())


def command(folder: Path, arguments: Sequence[str], *, user: int, environment: Mapping[str, str],
            mounts: Mapping[str, Path], writable: Mapping[str, Path] | None = None,
            workdir: str = "/") -> list[str]:
    """A command line that runs a container until its program ends.

    Args:
        folder: a new one, for what is needed on the way.
        user: ID without an entry in any passwd; 0 to build an image. The group is 0 in any case.
        mounts: folders, and files at the top, by their path inside.
    """
    folder.mkdir()
    (folder / "root").mkdir()
    held = {"/usr": Path("/usr"), **_python(folder), "/dev": Path("/dev"), "/proc": Path("/proc")} | mounts
    lines = [f"{READ_ONLY} {source} {target}\n" for target, source in held.items()]
    lines += [f"{WRITABLE} {source} {target}\n" for target, source in (writable or {}).items()]
    (folder / "mounts").write_text("".join(lines))
    return [
        *_unshared(), "sh", "-c", START, "sh", str(folder / "root"), str(folder / "mounts"),
        "/usr/bin/setpriv", f"--reuid={user}", "--regid=0", "--clear-groups", "--no-new-privs",
        *(() if user == 0 else ("--inh-caps=-all", "--bounding-set=-all")),
        "/usr/bin/env", "-i", "-C", workdir, *(f"{name}={text}" for name, text in environment.items()),
        *arguments,
    ]


def _python(folder: Path) -> dict[str, Path]:
    """Mounts for an interpreter in /usr/local/bin, which finds its library from there."""
    if sys.base_prefix == "/usr":
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(Path(sys.executable).resolve())
        return {"/usr/local/bin": folder / "bin"}
    base = Path(sys.base_prefix)
    return {"/usr/local": base, sys.base_prefix: base}  # its own path too, for shared libraries


def _unshared() -> list[str]:
    return ["unshare", "--mount", "--propagation", "private"]

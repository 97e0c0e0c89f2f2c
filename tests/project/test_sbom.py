"""The list of packages for a release (make sbom): those of the lock, with their hashes."""

import configparser
import json
import subprocess

from packaging.utils import canonicalize_name

from tests import locks
from tests.waiting import DEADLINE_S


def test_each_locked_package_is_listed(tmp_path):
    """With its version and every hash, below the name and the version of the router."""
    place = tmp_path / "sbom.json"
    # -o: the environment is not made again while tests run in it.
    subprocess.run(["make", "--silent", "-o", ".venv/.ready", "sbom", f"SBOM={place}"], cwd=locks.ROOT,
                   check=True, timeout=DEADLINE_S)
    bom = json.loads(place.read_text())
    config = configparser.ConfigParser()
    config.read(locks.ROOT / "setup.cfg")
    about = bom["metadata"]["component"]
    assert (bom["bomFormat"], about["name"], about["version"]) == (
        "CycloneDX", "f5router", config["metadata"]["version"])
    listed = {
        canonicalize_name(component["name"]): (component["version"], sorted(
            digest["content"] for reference in component["externalReferences"]
            for digest in reference.get("hashes", ())))
        for component in bom["components"]}
    assert len(listed) == len(bom["components"])
    assert listed == {pin.name: (pin.version, sorted(digest.removeprefix("sha256:") for digest in pin.hashes))
                      for pin in locks.read(locks.RUN)}

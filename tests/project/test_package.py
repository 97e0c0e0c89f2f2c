"""The archives that a release publishes."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_S
from tools import manpages

ROOT = Path(__file__).resolve().parents[2]
BUILD = """
import sys
from setuptools import build_meta
folder = sys.argv[1]  # setuptools puts arguments of its own in its place
build_meta.build_sdist(folder)
build_meta.build_wheel(folder)
"""


DESCRIBE = """
import sys
from pathlib import Path
from setuptools import build_meta
folder = Path(sys.argv[1])
(folder / build_meta.prepare_metadata_for_build_wheel(str(folder))).rename(folder / "f5router.dist-info")
"""
TOP_LEVEL = {"f5router", "f5router_fakes", "ghost_hostsubnet"}
"""Packages of the wheel: names that no other distribution has."""
FAKES = """
import sys
from pathlib import Path

import requests

import f5router_fakes
from f5router_fakes.bigip import FakeBigIP
from f5router_fakes.kube import FakeKube

assert Path(f5router_fakes.__file__).is_relative_to(sys.argv[1]), f5router_fakes.__file__
with FakeBigIP("14.1.2.1") as big, FakeKube() as kube, requests.Session() as session:
    session.trust_env = False
    pools = session.get(f"https://{big.address}/mgmt/tm/ltm/pool", auth=(big.username, big.password),
                        verify=big.ca_file)
    pools.raise_for_status()
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    print(pools.json()["kind"], kube.get("Namespace", None, "shop")["metadata"]["name"])
assert not {name for name in sys.modules if name.partition(".")[0] == "mocks"}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Folder of both archives, built of the files that git has."""
    source = tmp_path_factory.mktemp("source")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.split("\0"):
        kept = name.startswith(("f5router/", "ghost_hostsubnet/", "mocks/", "docs/")) or "/" not in name
        kept = kept or name == "tests/recordings/README.md"
        if name and kept and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    manpages.main(source / "man")
    described = tmp_path_factory.mktemp("described")
    subprocess.run([sys.executable, "-c", DESCRIBE, described], cwd=source, check=True, capture_output=True,
                   env={**os.environ, "FILES": "https://git.example.com/f5router/v1/"}, timeout=DEADLINE_S)
    folder = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-c", BUILD, folder], cwd=source, check=True, capture_output=True,
                   timeout=DEADLINE_S)
    (described / "f5router.dist-info").replace(folder / "described")
    return folder


def test_what_is_in_the_archives(built):
    """Licence and typing in both; docs, with the files to deploy, in the source distribution."""
    (archive,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert names >= {"LICENSE", "CHANGELOG.md", "SECURITY.md", "requirements.lock", "f5router/py.typed",
                     "docs/guide.md", "docs/deploy/30-deployment.yaml",
                     "docs/kustomize/vxlan/kustomization.yaml", "man/f5router-run.1"}
    with zipfile.ZipFile(wheel) as file:
        inside = set(file.namelist())
        (described,) = [file.read(name).decode() for name in inside if name.endswith("/METADATA")]
        (packages,) = [file.read(name).decode().split() for name in inside
                       if name.endswith("/top_level.txt")]
    assert set(packages) == TOP_LEVEL
    assert {name.partition("/")[0] for name in inside if ".d" not in name.partition("/")[0]} == TOP_LEVEL
    assert any(name.endswith("/LICENSE") for name in inside)
    assert inside >= {"f5router/py.typed", "f5router/cli/uninstall.py",
                      "f5router/desired/irules/openshift_request_irule.tcl"}
    installed = {name.partition(".data/data/")[2] for name in inside}
    assert installed >= {"share/man/man1/f5router.1", "share/man/man1/f5router-run.1",
                         "share/doc/f5router/docs/guide.md", "share/doc/f5router/docs/deploy/10-account.yaml"}
    text = described.partition("\n\n")[2]
    assert "docs/guide.md: from an empty cluster" in text
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []


def test_links_are_absolute_if_the_files_have_an_address(built):
    """Each of README.md, to a file that there is."""
    text = (built / "described" / "METADATA").read_text()
    assert "Project-URL: Documentation, https://git.example.com/f5router/v1/docs/index.md" in text
    targets = re.findall(r"\]\(([^)]*)\)", text.partition("\n\n")[2])
    assert len(targets) > 30
    for target in targets:
        if not target.startswith("#"):
            name, _, _ = target.removeprefix("https://git.example.com/f5router/v1/").partition("#")
            assert (ROOT / name).exists(), target


def test_links_of_the_installed_pages_lead_somewhere(built):
    """Links of docs/ in the wheel, also to pages beside that folder."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        installed = {name.partition("share/doc/f5router/")[2]: name for name in file.namelist()}
        pages = {page: file.read(name).decode() for page, name in installed.items()
                 if page.startswith("docs/") and page.endswith(".md")}
    there = {*installed, *(str(parent) for page in installed for parent in Path(page).parents)}
    lost = [(page, target) for page, text in pages.items()
            for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
            if os.path.normpath(Path(page).parent / target) not in there]
    assert len(pages) > 30
    assert lost == []


def test_the_fakes_of_the_wheel(built, tmp_path):
    """Another project has them by the extra `fakes`: with their data, and without a checkout."""
    (wheel,) = built.glob("*.whl")
    installed = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    "--no-index", "--no-deps", "--target", installed, wheel], check=True, timeout=DEADLINE_S)
    shown = subprocess.run([sys.executable, "-c", FAKES, installed], cwd=tmp_path, check=True,
                           env={**os.environ, "PYTHONPATH": str(installed)}, capture_output=True, text=True,
                           timeout=DEADLINE_S)
    assert shown.stdout.split() == ["tm:ltm:pool:poolcollectionstate", "shop"]

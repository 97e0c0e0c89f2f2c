"""The pages say what the code does; configuration.md is in test_settings and feature/test_rights."""

import re
from pathlib import Path

import pytest

from f5router import admission, names, reconcile, status
from f5router.bigip import CertFile, ClientSSL, DataGroup, IRule, KeyFile, Policy, Pool, ServerSSL
from f5router.cluster import Key

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
REASONS = [admission.NO_HOST, admission.INVALID_HOST, admission.CLAIMED, admission.NOT_ADMITTED,
           admission.INVALID, admission.EXTERNAL, reconcile.DEVICE_REJECTED, status.DEVICE_PENDING]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    """Pages, headings and folders."""
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", path.read_text()):
        assert not target or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_in_the_text_exist(path):
    """Files and folders of this repository that a page names."""
    for name in re.findall(r"`((?:f5router|mocks|tests|docs|benchmarks)/[\w./-]*)`", path.read_text()):
        assert (ROOT / name).exists(), name


def test_the_first_screen_has_both_commands():
    lines = (ROOT / "README.md").read_text().splitlines()[:24]
    assert [line.split("#")[0].strip() for line in lines if line.startswith("make ")] == [
        "make demo", "make test"]
    assert "(docs/guide.md)" in "".join(lines)


def test_every_reason_is_explained():
    """What a Route's status can say, and nothing else."""
    rows = re.findall(r"^\| `(\w+)` \|", page("routes.md").split("## Reasons")[1], re.MULTILINE)
    assert sorted(rows) == sorted(REASONS)


NS = Key("<ns>", "<svc>")


@pytest.mark.parametrize(("kind", "name"), [
    (Policy.KIND, names.INSECURE_POLICY), (Policy.KIND, names.SECURE_POLICY),
    (DataGroup.KIND, names.PASSTHROUGH_GROUP), (DataGroup.KIND, names.REENCRYPT_GROUP),
    (IRule.KIND, names.PASSTHROUGH_IRULE), (IRule.KIND, names.REENCRYPT_IRULE),
    (IRule.KIND, names.UNAVAILABLE_IRULE),
    (ServerSSL.KIND, names.DEFAULT_SERVERSSL),
    (Pool.KIND, names.pool("P", NS)),
    (ClientSSL.KIND, names.client_ssl("P", "<host>")),
    (ServerSSL.KIND, names.server_ssl("P", "<hash>")),
    (CertFile.KIND, names.route(Key("<ns>", "<route>")) + "-https-cert-<hash>.crt"),
    (KeyFile.KIND, "-https-key-<hash>.key"),
    (CertFile.KIND, "-https-chain-<hash>.crt"),
    (CertFile.KIND, "openshift_tls-https-cabundle-<hash>.crt"),
])
def test_every_object_is_listed(kind, name):
    """docs/bigip-objects.md has each name that names.py makes."""
    assert name.removeprefix("P/") in page("bigip-objects.md").replace("`..", "`"), kind


def test_every_module_is_in_the_architecture():
    text = page("architecture.md")
    for path in (ROOT / "f5router").rglob("*.py"):
        name = str(path.relative_to(ROOT / "f5router"))
        if path.name.startswith("__"):
            continue
        assert f"`{name}`" in text or f"`{path.name}`" in text, name

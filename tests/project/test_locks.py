"""The image is built of what setup.cfg asks for, to the last package, and nothing can be put in its place."""

import configparser
import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests import locks

CONFIG = configparser.ConfigParser()
CONFIG.read(locks.ROOT / "setup.cfg")
PYTHONS = [line.rpartition(" ")[2] for line in CONFIG["metadata"]["classifiers"].splitlines()
           if "Python :: 3." in line]
ENVIRONMENTS = [{"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine,
                 "extra": ""} for python in PYTHONS for machine in ("x86_64", "aarch64")]


def asked(text: str) -> list[Requirement]:
    return [Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]


BUILD_SYSTEM = tomllib.loads((locks.ROOT / "pyproject.toml").read_text())["build-system"]


@pytest.mark.parametrize(("name", "requirement"), [
    *((locks.RUN, requirement) for requirement in asked(CONFIG["options"]["install_requires"])),
    *((locks.BUILD, Requirement(text)) for text in BUILD_SYSTEM["requires"]),
], ids=str)
def test_what_is_asked_for_is_locked_within_its_bounds(name, requirement):
    """After a change in setup.cfg: make lock."""
    pins = {pin.name: pin for pin in locks.read(name)}
    pin = pins[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(pin.version), pin


@pytest.mark.parametrize("name", locks.FILES)
def test_each_package_has_one_version_and_hashes(name):
    pins = locks.read(name)
    assert pins
    assert len({pin.name for pin in pins}) == len(pins)
    for pin in pins:
        assert pin.version, pin
        assert pin.hashes, pin
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in pin.hashes), pin


@pytest.mark.parametrize("name", locks.FILES)
def test_no_address_of_an_index(name):
    """The machine that renews the lock may have another than the one that builds the image."""
    text = (locks.ROOT / name).read_text()
    assert "//" not in text
    assert "index" not in text


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: "-".join(environment.values()))
def test_what_they_need_in_turn_is_locked_too(environment):
    """By the metadata of the packages that are installed here; pip refuses to build the image otherwise."""
    pins = {pin.name: pin for pin in locks.read(locks.RUN)}
    for pin in pins.values():
        if not pin.applies() or _installed(pin.name) != pin.version:
            continue
        for requirement in map(Requirement, metadata.requires(pin.name) or ()):
            if requirement.marker and not requirement.marker.evaluate(environment):
                continue
            needed = pins[canonicalize_name(requirement.name)]
            assert needed.applies(environment), needed
            assert requirement.specifier.contains(needed.version), (pin.name, requirement)


ADVISORIES = re.findall(r"^\| ([\w-]+)(?:, [^|]+)? \| ([\d.]+) \| ([^|]*(?:CVE|GHSA)-[^|]+) \|$", (
    locks.ROOT / "docs" / "deploy" / "README.md").read_text(), re.MULTILINE)


def test_no_version_with_a_known_advisory_is_allowed_or_locked():
    """The page lists them; `make audit` finds new ones, by a database that no test can rely on."""
    extras = CONFIG["options.extras_require"]
    bounds = {requirement.name: requirement.specifier for requirement in (
        *asked(CONFIG["options"]["install_requires"]), *map(Requirement, BUILD_SYSTEM["requires"]),
        *asked(extras["fakes"]))}
    pins = {pin.name: pin.version for name in locks.FILES for pin in locks.read(name)}
    assert {name for name, *_ in ADVISORIES} == {
        "requests", "urllib3", "cryptography", "click", "setuptools", "aiohttp"}
    for name, first, advisories in ADVISORIES:
        lowest = min(Version(bound.version) for bound in bounds[name] if bound.operator == ">=")
        assert lowest >= Version(first), (name, advisories)
        if name in pins:
            assert Version(pins[name]) >= Version(first), (name, advisories)


def _installed(name: str) -> str:
    """The version, "" for none: this environment need not be made of the lock."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""

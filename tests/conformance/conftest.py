"""A running router between both fakes, with the Services of the suite, and the record of what passed.

All tests run on one version of TMOS, and those with the mark `every_tmos` on others, too. With
CONFORMANCE_TMOS=all each test runs on each version. Source: kubernetes-sigs/gateway-api v1.6.1,
conformance/base/manifests.yaml.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests import gateways
from tests.conformance import suite
from tests.conformance.cluster import TMOS, Conformance

EVERY = os.environ.get("CONFORMANCE_TMOS") == "all"
OUTCOMES = pytest.StashKey[dict[str, bool]]()
REPORT = Path(__file__).parents[2] / "build" / "gateway-api-conformance.yaml"
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
"""Name of this run of the tests, which all workers have."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Have a test run on versions of TMOS."""
    if "tmos_version" in metafunc.fixturenames:
        every = EVERY or metafunc.definition.get_closest_marker("every_tmos") is not None
        metafunc.parametrize("tmos_version", TMOS if every else TMOS[:1], scope="module")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    name = getattr(getattr(item, "function", None), "short_name", "")
    if name and (call.when == "call" or report.failed):
        outcomes = item.config.stash.setdefault(OUTCOMES, {})
        outcomes[name] = outcomes.get(name, True) and report.passed
    return report


@pytest.fixture(scope="module", autouse=True)
def _recorded(request: pytest.FixtureRequest) -> Iterator[None]:
    """Record what has passed when the tests of a module have ended."""
    yield
    suite.record(RUN, request.config.stash.get(OUTCOMES, {}), REPORT)


@contextmanager
def router(folder: Path, tmos_version: str, **flags: str) -> Iterator[Conformance]:
    """A router that runs. Args: flags: as of Conformance."""
    with ExitStack() as stack:
        cluster = Conformance(stack, folder, tmos_version=tmos_version, **flags)
        yield cluster
        cluster.stop()
        assert cluster.site.faults() == []


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, tmos_version: str) -> Iterator[Conformance]:
    """One Gateway at a time, with the front end of the router."""
    with router(tmp_path_factory.mktemp("site"), tmos_version) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: Conformance) -> Conformance:
    """Without the objects of the test before."""
    running.clear()
    running.site.apply(gateways.gateway_class())
    return running

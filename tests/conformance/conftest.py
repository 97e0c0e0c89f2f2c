"""A running router between both fakes, with the Services of the suite, and the record of what passed.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/base/manifests.yaml.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import gateways
from tests.conformance import suite
from tests.conformance.cluster import Conformance

OUTCOMES = pytest.StashKey[dict[str, bool]]()
REPORT = Path(__file__).parents[2] / "build" / "gateway-api-conformance.yaml"
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
"""Name of this run of the tests, which all workers have."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    name = getattr(getattr(item, "function", None), "short_name", "")
    if name and (call.when == "call" or report.failed):
        outcomes = item.config.stash.setdefault(OUTCOMES, {})
        outcomes[name] = outcomes.get(name, True) and report.passed
    return report


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory,
            request: pytest.FixtureRequest) -> Iterator[Conformance]:
    with ExitStack() as stack:
        cluster = Conformance(stack, tmp_path_factory.mktemp("site"))
        yield cluster
        cluster.stop()
        assert cluster.site.faults() == []
    suite.record(RUN, request.config.stash.get(OUTCOMES, {}), REPORT)


@pytest.fixture
def cluster(running: Conformance) -> Conformance:
    """Without the objects of the test before."""
    running.clear()
    running.site.apply(gateways.gateway_class())
    return running

"""The report of a run whose tests several processes have made, in any order."""

import json

import pytest

from tests.conformance import suite

FIRST, SECOND, THIRD = suite.HTTP_ROUTE[:3]


@pytest.fixture
def report(tmp_path):
    """report(run, outcomes): what is in the file after these outcomes of a run."""
    path = tmp_path / "build" / "report.yaml"
    path.parent.mkdir()

    def report(run: str, outcomes: dict[str, bool]) -> dict:
        suite.record(run, outcomes, path)
        profiles = {each["name"]: each for each in json.loads(path.read_text())["profiles"]}
        return profiles["GATEWAY-HTTP"]["core"]
    return report


def test_outcomes_of_several_processes_are_joined(report):
    report("one", {FIRST: True})
    core = report("one", {SECOND: True, THIRD: False})
    assert (core["statistics"]["Passed"], core["failedTests"], core["result"]) == (2, [THIRD], "failure")


def test_a_failure_is_not_made_good_by_another_test_of_the_name(report):
    report("one", {FIRST: False})
    assert report("one", {FIRST: True})["failedTests"] == [FIRST]
    assert report("one", {SECOND: True})["failedTests"] == [FIRST]


def test_another_run_begins_anew(report):
    report("one", {FIRST: False})
    core = report("two", {SECOND: True})
    assert (core["statistics"]["Passed"], core["result"], "failedTests" in core) == (1, "partial", False)

"""Rules for all tests, and the summary that is printed at the end."""

import contextlib
import gc
import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from f5router.logs import log_output
from tests.examples import ALL

# No deadline: a machine that is busy with something else fails no test. `make test` runs the same examples
# each time, so that a failure comes from a change, and only a quarter of them: in 64 mutants of plan and
# desired, no example after the first tenth found anything. `make explore` runs all, with a random seed.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=ALL // 4)
settings.register_profile("explore", deadline=None, print_blob=True, max_examples=ALL)
settings.load_profile("repeatable")


@contextlib.contextmanager
def _same_logging() -> Iterator[None]:
    """Put the root logger and the levels of libraries back: logs.setup() changes them for the process."""
    root = logging.getLogger()
    loggers = [root, *map(logging.getLogger, (*log_output.NOISY, *log_output.NEVER_DEBUG))]
    levels = [logger.level for logger in loggers]
    yield
    for handler in [each for each in root.handlers if hasattr(each, "redaction")]:
        root.removeHandler(handler)
    logging.captureWarnings(False)
    for logger, level in zip(loggers, levels, strict=True):
        if logger.level != level:  # setLevel empties a cache of every logger
            logger.setLevel(level)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    with _same_logging():
        yield


@pytest.fixture(scope="module", autouse=True)
def _logging_of_a_module_as_before() -> Iterator[None]:
    """Put it back after fixtures of a module, too: a test puts back only what it found."""
    with _same_logging():
        yield


def pytest_configure() -> None:
    """Collect no garbage while tests are imported and collected: all of that stays."""
    gc.disable()


ENDS = {"e2e": 0.5, "differential": 0.6, "traffic": 0.7, "feature": 0.8}
"""Folders whose tests wait for processes, timers and other threads, with the part of a run over which their
files are spread: a long one at the end would leave all processors but one idle."""


EVERY_END = "--every-end"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make explore`."""
    parser.addoption(EVERY_END, action="store_true",
                     help="tables of crashes with all versions of TMOS, and an end at each write")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix files that wait with files that compute: side by side, they leave the processors idle."""
    if not config.getoption(EVERY_END):
        items[:] = [item for item in items if item.get_closest_marker("explore") is None]
    if not hasattr(config, "workerinput"):  # only pytest-xdist runs files at the same time
        return
    folders: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        name = item.nodeid.partition("::")[0]
        folders.setdefault(name.split("/")[1], {}).setdefault(name, []).append(item)
    places = sorted(
        (ENDS.get(folder, 1.0) * number / len(files), name)
        for folder, files in folders.items() for number, name in enumerate(files))
    every = {name: tests for files in folders.values() for name, tests in files.items()}
    items[:] = [item for _, name in places for item in every[name]]


def pytest_collection_finish() -> None:
    """Spare the collector the modules and test items, which it would look through again and again.

    Nor does it look at what a test made after every 700 objects: most are gone when the test ends.
    """
    gc.freeze()
    gc.set_threshold(500_000, 5, 10)
    gc.enable()


MOST_FILES = 500
"""Open files of a process, after which garbage is collected: select() takes none above 1,024."""


def pytest_runtest_logfinish() -> None:
    """Close the connections of routers that have ended, which are garbage in cycles."""
    if len(os.listdir("/dev/fd")) > MOST_FILES:
        gc.collect()


def pytest_unconfigure() -> None:
    """Collect garbage once: pytest does it five times at the end of each process, which finds no more."""
    gc.collect()
    gc.freeze()


UNDER_LOAD = "requests under load"
"""Property of a test: what came of its requests."""


def pytest_terminal_summary(terminalreporter) -> None:
    """How many requests were sent, failed, or were answered by a wrong pod."""
    lines = sorted(_under_load(terminalreporter))
    if lines:
        terminalreporter.section(UNDER_LOAD)
    for line in lines:
        terminalreporter.write_line(line)


def _under_load(terminalreporter) -> Iterator[str]:
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                name = report.nodeid.rpartition("::")[2]
                yield from (f"{name}: {text}" for key, text in report.user_properties if key == UNDER_LOAD)

"""What holds for all tests, and what is printed at the end."""

from collections.abc import Iterator

from hypothesis import settings

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")  # one that is busy with something else fails no test

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

"""Tables of pure functions: all rows in one test, which names each row that fails."""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

LABEL_LENGTH = 200
"""Characters of a value in the name of a row."""

PARAM = type(pytest.param())
"""A row with an id of its own."""


def rows(names: str | Sequence[str], table: Iterable[Any], ids: Any = None) -> Callable[[Callable], Callable]:
    """Check all rows of a table in one test, also after one has failed; the failure names those that did.

    For functions that take microseconds and long tables: pytest takes 2 ms for each test that parametrize
    makes of a row, in all processes together. Rows share the fixtures, so a test that changes something keeps
    parametrize. Several tables give all their combinations.

    Args: names, table, ids: as of pytest.mark.parametrize.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    single = isinstance(names, str) and len(arguments) == 1
    given = ids if ids is None or callable(ids) else list(ids)
    lines = [_Row(arguments, line, single, given[number] if isinstance(given, list) else given)
             for number, line in enumerate(table)]
    assert lines, "a table without rows checks nothing"

    def decorate(test: Callable) -> Callable:
        tables = [lines, *getattr(test, "tables", ())]
        check = getattr(test, "check", test)

        @functools.wraps(check)
        def every_row(*args, **fixtures) -> None:
            failures: dict[str, BaseException] = {}
            for number, combination in enumerate(itertools.product(*tables)):
                values = {name: value for row in combination for name, value in row.values.items()}
                try:
                    check(*args, **fixtures, **values)
                except (Exception, pytest.fail.Exception) as failure:
                    name = f"{number}: " + ", ".join(row.label() for row in combination)
                    failure.add_note(f"in row {name}")
                    failures[name] = failure
            if failures:
                raise BaseExceptionGroup(f"rows {'; '.join(failures)}", list(failures.values()))

        signature = inspect.signature(check)
        taken = {name for each in tables for name in each[0].values}
        assert taken <= set(signature.parameters), "the test does not take all that the table has"
        every_row.__signature__ = signature.replace(
            parameters=[value for name, value in signature.parameters.items() if name not in taken])
        every_row.tables, every_row.check = tables, check
        return every_row

    return decorate


class _Row:
    """A line of a table."""

    def __init__(self, arguments: Sequence[str], line: Any, single: bool, name: Any):
        """Args: name: of the row, or a function that names each value; None for the values as they are."""
        if isinstance(line, PARAM):
            assert not line.marks, "a row that is not to be checked belongs elsewhere"
            values, name = line.values, line.id or name
        else:
            values = (line,) if single else line
        self.values = dict(zip(arguments, values, strict=True))
        self._name = name

    def label(self) -> str:
        """The name of the row, or its values."""
        if isinstance(self._name, str):
            return self._name
        return "-".join(self._named(value) for value in self.values.values())

    def _named(self, value: Any) -> str:
        name = self._name(value) if callable(self._name) else None
        return ascii(value)[:LABEL_LENGTH] if name is None else str(name)

"""The command table: what it keeps, for how long, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mocks.bigip.quirks import Quirk
from tests.mocks.bigip.dataplane.conftest import DeviceClock, Net

Run = Callable[[str], str]


@pytest.fixture(scope="module")
def shared() -> Iterator[Net]:
    net = Net()
    net.pod("10.1.0.1", name="one")
    net.pool("one", "10.1.0.1:8080")
    yield net
    net.close()


@pytest.fixture
def net(shared: Net) -> Iterator[Net]:
    for subtable, key in list(shared.plane.table.live()):
        shared.plane.table.delete(subtable, key)
    shared.plane.clock.time_of_day = DeviceClock()
    yield shared
    assert shared.errors() == []


@pytest.fixture
def run(net: Net) -> Run:
    """Runs commands on a connection of their own; returns the result of the last one."""
    def run(script: str) -> str:
        number = net.store.next_number("test table")
        text = f"when HTTP_REQUEST {{ HTTP::respond 200 content [eval {{ {script} }}] }}"
        path = net.virtual(f"t{number}", pool="/P/one", rules=[net.rule(f"t{number}", text)])
        return net.ask(path).body.decode()
    return run


@pytest.mark.parametrize(("script", "result"), [
    ("table lookup a", ""),
    ("table set a 1", "1"),
    ("table set a 1; table set a 2; table lookup a", "2"),
    ("table set a 1; table lookup -subtable s a", ""),
    ("table set -subtable s a 1; table lookup -subtable s a", "1"),
    ("table set a 1; table set -excl a 2; table lookup a", "1"),
    ("table set -mustexist a 2; table lookup a", ""),
    ("table add a 1; table add a 2", "1"),
    ("table replace a 2", ""),
    ("table add a 1; table replace a 2; table lookup a", "2"),
    ("table incr a", "1"),
    ("table incr a 5; table incr a -2", "3"),
    ("table incr a -1", str(2**64 - 1)),
    ("table incr -mustexist a", ""),
    ("table set a 7; table incr -mustexist -notouch a", "8"),
    ("table append a x; table append a y", "xy"),
    ("table append -mustexist a x; table lookup a", ""),
    ("table set a 1; table delete a; table lookup a", ""),
    ("table delete a", ""),
    ("table set -subtable s a 1; table delete -subtable s -all; table keys -subtable s", ""),
    ("table set -subtable s a 1; table set -subtable s {b c} 1; table keys -subtable s", "a {b c}"),
    ("table set -subtable s a 1; table set -subtable s b 1; table keys -subtable s -count", "2"),
    ("table keys -subtable s -count", "0"),
    ("table timeout a", "-1"),
    ("table set a 1; list [table timeout a] [table lifetime a]", "180 indefinite"),
    ("table set a 1 indefinite 60; list [table timeout a] [table lifetime a]", "indefinite 60"),
    ("table set a 1; table timeout a 20; table lifetime a 30; list [table timeout a] [table lifetime a]",
     "20 30"),
    ("table set a 1 10 10; table set a 2; list [table timeout a] [table lifetime a]", "180 indefinite"),
    ("table set -subtable s -- -k 1; table lookup -subtable s -- -k", "1"),
    ("catch { table set a x; table incr a } e; set e", 'expected integer but got "x"'),
    ("catch { table set a 1 0 } e; set e", 'expected a positive number of seconds but got "0"'),
])
def test_results(run: Run, script, result):
    assert run(script) == result


@pytest.mark.parametrize(("script", "later", "expected"), [
    ("table set a 1", "table lookup a", ["1", "1", ""]),
    ("table set a 1", "table lookup -notouch a", ["1", "", ""]),
    ("table set a 1 indefinite 200", "table lookup a", ["1", "", ""]),
    ("table set a 1 indefinite indefinite", "table lookup a", ["1", "1", "1"]),
    ("table set -subtable s a 1", "table keys -subtable s", ["a", "a", ""]),
    ("table set -subtable s a 1", "table keys -subtable s -notouch", ["a", "", ""]),
    ("table set -subtable s a 1", "table keys -subtable s -count", ["1", "0", "0"]),
    ("table set a 1", "table timeout -remaining a", ["80", "-1", "-1"]),
    ("table set a 1 indefinite 150", "table lifetime -remaining a", ["50", "-1", "-1"]),
    ("table incr a", "table incr a", ["2", "3", "1"]),
])
def test_entries_expire(net: Net, run: Run, script, later, expected):
    """After 100 s, 100 s more, and 200 s more."""
    run(script)
    answers = []
    for seconds in (100, 100, 200):
        net.plane.clock.time_of_day.now += seconds
        answers.append(run(later))
    assert answers == expected


def test_the_clock_of_the_table_is_that_of_rules(net: Net, run: Run):
    net.plane.clock.time_of_day.now = 5000.5
    assert run("clock seconds") == "5000"


def test_a_quirk_makes_it_fail():
    net = Net(quirks={Quirk.TABLE_FAILS})
    path = net.virtual("v", rules=[net.rule("r", "when HTTP_REQUEST { HTTP::respond 200 content [catch {\n"
                                                 "table lookup a }] }")])
    assert net.ask(path).body == b"1"
    net.close()

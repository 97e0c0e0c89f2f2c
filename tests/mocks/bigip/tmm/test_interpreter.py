"""The Tcl engine: what rules may do, what ends them, and that connections do not feel each other."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mocks.bigip import language
from mocks.bigip.tmm import Connection, Interpreter, RuleError, TclError, Unsupported
from tests.examples import examples


class Tmm:
    """Commands of a test: `echo` returns its arguments, `note` keeps them, `fail` fails."""

    def __init__(self) -> None:
        self.notes: list[bytes] = []

    def __call__(self, name: str, arguments: list[bytes]) -> bytes:
        if name == "echo":
            return b" ".join(arguments)
        if name == "note":
            self.notes += arguments
            return b""
        if name == "fail":
            raise TclError("it failed")
        if name == "broken":
            raise ZeroDivisionError
        raise Unsupported(f"the command {name}")


def connect(tcl: Interpreter, *texts: str, tmm: Tmm | None = None, **how) -> Connection:
    rules = [(f"/Common/rule{number}", text) for number, text in enumerate(texts)]
    return tcl.connection(rules, tmm or Tmm(), **how)


def run(tcl: Interpreter, body: str, **how) -> dict[str, bytes]:
    """Variables after one event with this body."""
    connection = connect(tcl, f"when HTTP_REQUEST {{\n{body}\n}}", **how)
    try:
        connection.fire("HTTP_REQUEST")
        return connection.variables()
    finally:
        connection.close()


def fails(tcl: Interpreter, body: str) -> str:
    with pytest.raises(RuleError) as failed:
        run(tcl, body)
    assert (failed.value.rule, failed.value.event) == ("/Common/rule0", "HTTP_REQUEST")
    return failed.value.message


class TestEvents:
    def test_order(self, tcl):
        """By priority, then by the order of the rules and within a rule."""
        tmm = Tmm()
        connection = connect(
            tcl,
            "when A { note 500a }\nwhen A priority 1000 { note last }\nwhen A { note 500b }",
            "priority 100\nwhen A { note 100 }\ntiming on\nwhen A timing off priority 99 { note 99 }",
            "when A { note 500c }\nwhen B { note B }",
            tmm=tmm,
        )
        assert (connection.has("A"), connection.has("B"), connection.has("C")) == (True, True, False)
        connection.fire("A")
        connection.fire("C")
        assert tmm.notes == [b"99", b"100", b"500a", b"500b", b"500c", b"last"]

    def test_return_ends_one_handler(self, tcl):
        tmm = Tmm()
        connect(tcl, "when A { note 1; return; note 2 }", "when A { note 3 }", tmm=tmm).fire("A")
        assert tmm.notes == [b"1", b"3"]

    @pytest.mark.parametrize(
        ("command", "notes"),
        [
            pytest.param("event disable", [b"1", b"b"], id="this event"),
            pytest.param("event disable all", [b"1"], id="all events"),
            pytest.param("event A disable", [b"1", b"b"], id="this event by name"),
            pytest.param("event B disable", [b"1", b"2", b"1", b"2"], id="another event"),
            pytest.param("event disable; event enable", [b"1", b"2", b"b", b"1", b"2"], id="on again"),
            pytest.param("event disable all; event enable all", [b"1", b"2", b"b", b"1", b"2"], id="all"),
        ],
    )
    def test_event_disable(self, tcl, command, notes):
        """The handler goes on, the others do not run, of any rule and at any later time."""
        tmm = Tmm()
        connection = connect(tcl, f"when A {{ {command}; note 1 }}", "when A { note 2 }\nwhen B { note b }",
                             tmm=tmm)  # fmt: skip
        for event in ("A", "B", "A"):
            connection.fire(event)
        assert tmm.notes == notes

    def test_variables_live_with_the_connection(self, tcl):
        """Shared by all rules and events of it, and by nothing else, also where its child is used again."""
        texts = (
            "when A { set x 1; set y(k) v; set ::z 1; set static::s 1 }",
            "when B { note $x$y(k)$z$static::s }\nwhen C { note [info exists x][info exists static::s] }",
        )
        tmm = Tmm()
        first, second = connect(tcl, *texts, tmm=tmm), connect(tcl, *texts, tmm=tmm)
        first.fire("A")
        first.fire("B")
        second.fire("C")
        first.close()
        third = connect(tcl, *texts, tmm=tmm)
        third.fire("C")
        assert tmm.notes == [b"1v11", b"00", b"00"]
        assert third.variables() == {}

    def test_rule_init(self, tcl):
        """Runs first; what it sets in static:: is there in every connection."""
        text = "when A { note $static::x }\nwhen RULE_INIT { set static::x 5 }"
        tmm = Tmm()
        for _ in range(2):
            connection = connect(tcl, text, tmm=tmm)
            connection.fire("A")
            connection.close()
        assert tmm.notes == [b"5", b"5"]

    def test_procedures(self, tcl):
        """`call` finds those of the rule itself and, by the name of the rule, those of others."""
        tmm = Tmm()
        connect(
            tcl,
            "when A { note [call twice 4] [call rule1::twice 4] [call /Common/rule1::twice 4] }\n"
            "proc twice {n} { set x $n; return [expr {$n * 2}] }",
            "proc twice {n} { return [call own $n] }\nproc own {n} { return own$n }",
            tmm=tmm,
        ).fire("A")
        assert tmm.notes == [b"8", b"own4", b"own4"]

    def test_not_a_rule(self, tcl):
        with pytest.raises(RuleError, match=r"line 2: undefined procedure: set"):
            connect(tcl, "when A {}\nset x 1")


class TestErrors:
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ("set x $unset", 'can\'t read "unset": no such variable'),
            ("fail", "it failed"),
            ("error mine", "mine"),
            ("break", 'invoked "break" outside of a loop'),
            ("catch fail text; error $text", "it failed"),
        ],
    )
    def test_uncaught(self, tcl, body, message):
        assert fails(tcl, body) == message

    @pytest.mark.parametrize("body", ["while {1} {}", "catch { while {1} { catch { while {1} {} } } }"])
    def test_runaway(self, hasty, body):
        assert fails(hasty, body) == "time limit exceeded"

    def test_commands_limit(self):
        with Interpreter(limit_commands=100) as tcl:
            run(tcl, "for {set i 0} {$i < 10} {incr i} {}")
            assert fails(tcl, "for {set i 0} {$i < 1000} {incr i} {}") == "command count limit exceeded"

    @pytest.mark.parametrize("body", ["nobody", "HTTP::nobody x", "catch nobody", "catch {echo [nobody]}"])
    def test_unknown_to_the_fake(self, tcl, body):
        """Never hidden by the rule's catch: it might work on the device. Nothing more of the rule runs."""
        tmm = Tmm()
        connection = connect(tcl, f"when A {{ {body}; note on }}", tmm=tmm)
        with pytest.raises(RuleError, match="the fake does not know the command"):
            connection.fire("A")
        assert tmm.notes == []

    def test_fault_of_the_fake(self, tcl):
        """Comes out as it is."""
        with pytest.raises(ZeroDivisionError):
            run(tcl, "catch broken")
        assert run(tcl, "set x 1") == {"x": b"1"}

    def test_failed_rule_leaves_the_next_out(self, tcl):
        tmm = Tmm()
        connection = connect(tcl, "when A { fail }", "when A { note 1 }\nwhen B { note b }", tmm=tmm)
        with pytest.raises(RuleError):
            connection.fire("A")
        connection.fire("B")
        assert tmm.notes == [b"b"]

    def test_what_8_4_lacks(self, tcl):
        """Found at run time, too, when its name is made there."""
        for name in ("dict", "lassign", "lrepeat", "lreverse", "apply", "try", "coroutine", "chan", "lmap"):
            assert fails(tcl, f"set c {name}; $c a b") == f'invalid command name "{name}"'
        assert "unknown or ambiguous subcommand" in fails(tcl, "string reverse abc")
        assert "unknown or ambiguous subcommand" in fails(tcl, "binary encode hex abc")
        assert fails(tcl, "incr unset") == 'can\'t read "unset": no such variable'
        assert "mathfunc::max" in fails(tcl, "expr {max(1, 2)}")

    def test_no_way_out(self, tcl):
        for name in sorted(language.DISABLED - {"unknown"} | {"proc"}):
            assert fails(tcl, f"set c {name}; $c a") == f'invalid command name "{name}"'
            assert fails(tcl, f"set c ::{name}; $c a")
        assert run(tcl, "set x [info exists ::env]") == {"x": b"0"}

    def test_override(self, tcl):
        """A command of Tcl's own may be replaced, for one connection."""
        connection = connect(tcl, "when A { binary scan x c y }", override=["binary"])
        with pytest.raises(RuleError, match="binary"):
            connection.fire("A")
        connection.close()
        assert run(tcl, "binary scan A c y") == {"y": b"65"}


class TestIsolation:
    def test_runaway_does_no_harm(self, hasty):
        tmm = Tmm()
        other = connect(hasty, "when A { set x 1 }\nwhen B { note $x }", tmm=tmm)
        other.fire("A")
        fails(hasty, "while {1} {}")
        other.fire("B")
        assert tmm.notes == [b"1"]
        assert run(hasty, "set x 2") == {"x": b"2"}
        assert hasty.deaths == []

    def test_killed_process(self):
        """It is started again; what was in it is lost, and says so."""
        with Interpreter() as tcl:
            lost = connect(tcl, "when A { set x 1 }")
            lost.fire("A")
            os.kill(tcl.pid, signal.SIGKILL)
            with pytest.raises(RuleError, match="interpreter died"):
                lost.fire("A")
            assert run(tcl, "set x 1") == {"x": b"1"}
            with pytest.raises(RuleError, match="restarted"):
                lost.fire("A")
            lost.close()
            assert len(tcl.deaths) == 1

    @pytest.mark.parametrize("closed", [False, True])
    def test_killed_between_connections(self, closed):
        """The next connection does not feel it."""
        with Interpreter() as tcl:
            connection = connect(tcl, "when A { set x 1 }")
            connection.fire("A")
            pid = tcl.pid
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            if closed:
                connection.close()
            assert run(tcl, "set x 1") == {"x": b"1"}
            assert len(tcl.deaths) == 1
            assert tcl.pid != pid

    def test_memory(self):
        """A rule that eats memory ends the process, not the machine."""
        with Interpreter(limit_s=20) as tcl:
            body = "set x [string repeat a 200000000]; while {1} {append x $x}"
            assert "unable to alloc" in fails(tcl, body)
            assert run(tcl, "set x 1") == {"x": b"1"}

    def test_what_tcl_cannot_interrupt(self):
        """Ended from outside."""
        with Interpreter(limit_s=0.05, patience_s=1) as tcl:
            body = "string first [string repeat a 100000]b [string repeat a 10000000]"
            assert "no answer in time" in fails(tcl, body)
            assert run(tcl, "set x 1") == {"x": b"1"}

    def test_slow_commands_are_not_the_rules_fault(self):
        """Time in Python does not count."""
        waits = threading.Event()

        def slow(name: str, arguments: list[bytes]) -> bytes:
            waits.wait(0.6)
            return b""

        with Interpreter(limit_s=0.5) as tcl:
            connection = tcl.connection([("/Common/r", "when A { slow; slow; set x 1 }")], slow)
            connection.fire("A")
            assert connection.variables() == {"x": b"1"}

    def test_threads(self):
        """Events of many connections at once, each with its own variables and commands."""
        wrong: list[object] = []
        tcl = Interpreter()

        def client(number: int) -> None:
            tmm = Tmm()
            for _ in range(20):
                connection = connect(tcl, "when A { set x [echo $::n] }\nwhen N { set n [me] }\n"
                                          "when B { note $x }", tmm=_Numbered(tmm, number))  # fmt: skip
                for event in ("N", "A", "B"):
                    connection.fire(event)
                connection.close()
            if tmm.notes != [str(number).encode()] * 20:
                wrong.append(tmm.notes)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tcl.close()
        assert wrong == []

    def test_a_command_must_not_call_back(self, tcl):
        connection: list[Connection] = []

        def again(name: str, arguments: list[bytes]) -> bytes:
            connection[0].fire("A")
            return b""

        connection.append(tcl.connection([("/Common/r", "when A { again }")], again))
        with pytest.raises(RuntimeError, match="must not use"):
            connection[0].fire("A")

    def test_closed(self):
        tcl = Interpreter()
        connection = connect(tcl, "when A {}")
        connection.close()
        connection.close()
        with pytest.raises(RuntimeError, match="closed"):
            connection.fire("A")
        tcl.close()
        tcl.close()
        with pytest.raises(RuntimeError, match="closed"):
            run(tcl, "set x 1")


class _Numbered:
    def __init__(self, tmm: Tmm, number: int) -> None:
        self.tmm, self.number = tmm, number

    def __call__(self, name: str, arguments: list[bytes]) -> bytes:
        return str(self.number).encode() if name == "me" else self.tmm(name, arguments)


class TestBytes:
    def test_all_bytes(self, tcl):
        every = bytes(range(256)) * 300
        seen = []

        def payload(name: str, arguments: list[bytes]) -> bytes:
            seen.append(arguments)
            return every

        text = (
            "when A { set x [payload]; set n [string length $x]\nbinary scan $x cc@255c a b c\n"
            "keep $x [string range $x 10 20] }"
        )
        connection = tcl.connection([("/Common/r", text)], payload)
        connection.fire("A")
        assert seen[1] == [every, every[10:21]]
        variables = connection.variables()
        assert variables == {"x": every, "n": b"76800", "a": b"0", "b": b"1", "c": b"-1"}

    def test_text(self, tcl):
        """Letters beyond ASCII are the bytes of UTF-8, as they came with the rule."""
        assert run(tcl, "set x [echo \u00e5\u20ac]; set n [string length $x]") == {
            "x": "\u00e5\u20ac".encode(),
            "n": b"5",
        }
        assert run(tcl, "set x [echo \\u20ac\\u00e5]")["x"] == "\u20ac\u00e5".encode()

    @settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.binary(max_size=400), cut=st.integers(0, 400))
    def test_round_trip(self, tcl, data, cut):
        """Through a command, a variable, a cut and a join, and out again."""
        seen = []

        def command(name: str, arguments: list[bytes]) -> bytes:
            seen.append(arguments)
            return data

        text = (
            f"when A {{ set x [payload]; binary scan $x a{min(cut, len(data))}a* l r; keep $x $l$r\n"
            "keep [binary format a*a* $l $r] }"
        )
        connection = tcl.connection([("/Common/r", text)], command)
        connection.fire("A")
        connection.close()
        assert seen[1:] == [[data, data], [data]]

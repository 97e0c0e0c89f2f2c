"""Rewriting of what only TMM's parser takes: its results in the engine, and what is left alone."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.desired import irules
from mocks.bigip.tcl import SyntaxRefusal, commands
from mocks.bigip.tmm import Interpreter, RuleError
from mocks.bigip.tmm.operators import expression, rewritten


def value(tcl: Interpreter, text: str) -> str:
    """Return the value of an expression in a rule; x is "abc", n is 3."""
    connection = tcl.connection(
        [("/P/r", f"when A {{ set x abc; set n 3; set k(a) abc; set r [expr {{{text}}}] }}")],
        lambda name, arguments: b"/api/x",
    )
    connection.fire("A")
    outcome = connection.variables()["r"].decode()
    connection.close()
    return outcome


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('$x starts_with "ab"', "1"),
        ('$x starts_with "b"', "0"),
        ('$x starts_with ""', "1"),
        ('"" starts_with $x', "0"),
        ('$x ends_with "bc"', "1"),
        ('"bc" ends_with $x', "0"),
        ('$x ends_with ""', "1"),
        ('$x contains "b"', "1"),
        ('$x contains "ac"', "0"),
        ('$x equals "abc"', "1"),
        ('"010" equals "8"', "0"),
        ('"010" starts_with "01"', "1"),
        ('$x matches "a*"', "1"),
        ('$x matches "*b"', "0"),
        ('$x matches_glob "?b?"', "1"),
        ('$x matches_regex "^a.c$"', "1"),
        ('[HTTP::uri] starts_with "/api"', "1"),
        ('[string tolower [HTTP::uri]] contains "I/X"', "0"),
        ("$k(a) contains {b}", "1"),
        ('$n == 3 and $x contains "b"', "1"),
        ('$n == 4 or $x contains "b"', "1"),
        ('not ($x contains "b")', "0"),
        ("not $n", "0"),
        ('$x contains "z" || $x starts_with "a" && $n > 2', "1"),
        ('$x contains "z" or $x starts_with "a" and $n > 3', "0"),
        ('($x contains "b") ? "yes" : "no"', "yes"),
        ('$x contains "b" ? $x ends_with "c" ? 1 : 2 : 3', "1"),
        ('[expr { $x contains "b" }] + 1', "2"),
        ('"[expr { $x contains "b" }]" eq "1"', "1"),
        ("int(2.5) + abs(-$n) == 5 and 1", "1"),
        ("1 + 2 * 3 == 7 and 8 - 4 - 2 == 2", "1"),
        ("!$n or -1 < 0", "1"),
        ("~0 & 3 | 4 ^ 1 and 1", "1"),
    ],
)
def test_values(tcl, text, want):
    assert value(tcl, text) == want


BODY = """
    # a comment with and in it; not this
    if { $x starts_with "a" } { set r 1 } elseif { not ($x contains "z") } { set r 2 } else { set r 3 }
    set words "this and that [expr { $x contains "b" }]"
    switch -glob $x {
        "a and b" { set s 1 }
        "a*" { if { $x ends_with "c" } { set s 2 } }
        default { set s "or" }
    }
    set i 0
    while { $i < 3 and $i < 2 } { incr i }
    for { set j 0 } { $j < 9 && not ($j equals 4) } { incr j } { }
    catch { if { $x contains "q" or 1 } { set c [list and or not] } }
    foreach y { and or } { lappend l $y }
"""


def test_scripts(tcl):
    """Everywhere where an expression stands, and nowhere else."""
    connection = tcl.connection([("/P/r", f"when A {{ set x abc\n{BODY} }}")], lambda *called: b"")
    connection.fire("A")
    variables = {name: value.decode() for name, value in connection.variables().items()}
    connection.close()
    assert variables == {"x": "abc", "r": "1", "words": "this and that 1", "s": "2", "i": "2", "j": "4",
                         "c": "and or not", "y": "or", "l": "and or"}  # fmt: skip


def test_nothing_to_do():
    """The router's own rules run as they are written."""
    for irule in (irules.passthrough_irule, irules.reencrypt_irule, irules.unavailable_irule,
                  partial(irules.request_irule, page=True), partial(irules.request_irule, page=False)):
        text = irule("/P")
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        assert rewritten(code) == code


@pytest.mark.parametrize(
    "text",
    ["$a contains", "contains $b", "($a and $b", "$a and $b)", "$a $b or", "$ and 1", "f($a and", "# or"],
)
def test_unreadable(text):
    with pytest.raises(SyntaxRefusal):
        expression(text)


def test_refused_loudly(tcl):
    """Text that cannot be rewritten is an error when the connection begins."""
    with pytest.raises(RuleError, match="not in braces"):
        tcl.connection([("/P/r", "when A { set r [expr $x contains b] }")], lambda *called: b"")


def variables(tcl: Interpreter, body: str) -> dict[str, str]:
    """Return the variables that the body of an event leaves."""
    connection = tcl.connection([("/P/r", f"when A\n{{{body}}}")], lambda *called: b"")
    try:
        connection.fire("A")
        return {name: value.decode() for name, value in connection.variables().items()}
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("words", "want"),
    [
        # measured, see tcl.py: words that begin with a brace or a quote
        ("{a}{b}", "a|b"),
        ("{a}b", "a|b"),
        ("{a}bc{d}", "a|bc{d}"),
        ('{a}"b"', "a|b"),
        ("{a}$v", "a|XX"),
        ("{a}[list b]", "a|b"),
        ("{a}{b}{c}", "a|b|c"),
        ("{}{}", "|"),
        ("{a b}{c d}", "a b|c d"),
        ("{a{b}}{c}", "a{b}|c"),
        ("{a}#b", "a|#b"),
        ("{a}\\ b", "a| b"),
        ('{a}"b"c', "a|b|c"),
        ('"a"{b}', "a|b"),
        ('"a"b', "a|b"),
        ('"a""b"', "a|b"),
        ('"a"$v', "a|XX"),
        ("{$v}$v", "$v|XX"),
        ("{*}$v", "*|XX"),
        # and the others
        ("a{b}", "a{b}"),
        ("a{b}c", "a{b}c"),
        ("$v{b}", "XX{b}"),
        ('$v"b"', 'XX"b"'),
        ("[list a]{b}", "a{b}"),
        ("[list a]b", "ab"),
        ("${v}b", "XXb"),
        ("@${v}c", "@XXc"),
        ("${v}${v}", "XXXX"),
        ("{a}\t{b}", "a|b"),
        # a line that begins with a brace
        ("a b\n  {c}", "a|b|c"),
        ("a\n{b}\n{c d}", "a|b|c d"),
        ("a \\\n {b}", "a|b"),
    ],
)
def test_words(tcl, words, want):
    assert variables(tcl, f"set v XX; set r [join [list {words}] |]")["r"] == want


LINES = """
  set n 1
  while {$n < 30}
  {
    set n [expr {$n + 30}]
  }
  for {set i 0}
      {$i - 2 != abs($i - 2)}
      {incr i} {
    lappend seen $i
  }
  foreach y {a b}
  {
    append z $y
  }
  if {$n == 1}
  {
    set r one
  }
  elseif {$n equals 31}
  {
    if {0} { set r two }
    else { set r three }
  }
  else
  {
    set r four
  }
  switch "a"
  {
    a
    {
      set s [call mine {b}{c}]
    }
  }

  {set}t 5
"""


def test_lines(tcl):
    """Commands that go on in the next line, at any depth."""
    rule = f"when A {{{LINES}}}\nproc mine {{a b}}\n{{\n  return $b$a\n}}"
    connection = tcl.connection([("/P/r", rule)], lambda *called: b"")
    connection.fire("A")
    variables = {name: value.decode() for name, value in connection.variables().items()}
    connection.close()
    want = {"n": "31", "i": "2", "seen": "0 1", "y": "b", "z": "ab", "r": "three", "s": "cb", "t": "5"}
    assert variables == want


@given(st.lists(st.sampled_from(["if {1}", "{a}", "\n", "\n  {b}", "\nelse {c}", " x", "$y{z}", '"q"', "[w]",
                                 "; ", "# c\n", "\\\n"])).map("".join))  # fmt: skip
def test_rewriting_keeps_lines_and_words(script):
    """As many lines as before, and the words that TMM sees; what is rewritten is left alone the next time."""
    try:
        before = [[(word.text, word.line) for word in words] for words in commands(script)]
        changed = rewritten(script)
    except SyntaxRefusal:
        return
    assert changed.count("\n") == script.count("\n")
    assert rewritten(changed) == changed
    assert [[(word.text, word.line) for word in words] for words in commands(changed)] == before

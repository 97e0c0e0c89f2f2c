"""Refusals of TMM's compiler when a rule is written, and rules that it takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from f5router.desired import irules
from mocks.bigip import language, rulecheck
from mocks.bigip.rulecheck import SyntaxRefusal, check
from mocks.bigip.tmm.operators import rewritten
from tests.rows import rows

RECORDINGS = Path(__file__).parents[2] / "recordings"


def refusal(text: str) -> str:
    with pytest.raises(SyntaxRefusal) as refused:
        check(text)
    return refused.value.reason


def in_event(body: str, event: str = "HTTP_REQUEST") -> str:
    return f"when {event} {{\n{body}\n}}"


@rows(
    ("body", "reason"),
    [
        # Tcl 8.5 and later
        ("set d [dict create]", "undefined procedure: dict"),
        ("lassign $x a b", "undefined procedure: lassign"),
        ("if {[lreverse $x] eq 1} { }", "undefined procedure: lreverse"),
        ("foreach x $y { try { } }", "undefined procedure: try"),
        ("apply {{} {}}", "undefined procedure: apply"),
        ("catch { lrepeat 3 x }", "undefined procedure: lrepeat"),
        ('switch $x { a { chan puts b } }', "undefined procedure: chan"),
        ('set x "[lmap a $b { }]"', "undefined procedure: lmap"),
        ("log local0. {*}$x", "invalid 'local0.'; expected:-noname"),
        ('log local0. "x" # comment', "invalid 'local0.'; expected:-noname"),
        ("binary scan $x cuS a b", 'bad field specifier "u"'),
        ("binary scan $x @${n}cu a", 'bad field specifier "u"'),
        ("binary scan $x t a", 'bad field specifier "t"'),
        ("set x [binary format R 1]", 'bad field specifier "R"'),
        ("binary encode hex $x", 'bad option "encode"'),
        ("set x [string reverse $x]", 'bad option "reverse"'),
        ("if { [string is wideinteger $x] } { }", 'bad class "wideinteger"'),
        ("switch -nocase $x { a { } }", 'bad option "-nocase"'),
        ("lsort -stride 2 $x", 'bad option "-stride"'),
        ("if { $a in $b } { }", ": in"),
        ("while { $a ni {1 2} } { }", ": ni"),
        ("set x [expr { 2 ** 3 }]", ": **"),
        ("for {set i 0} {$i in $x} {incr i} { }", ": in"),
        ("if { $a } { } elseif { $a in $b } { }", ": in"),
        ("expr $a in $b", ": in"),
        ("set x [expr { max(1, 2) }]", 'unknown math function "max"'),
        ("if { Some() } { }", 'unknown math function "Some"'),
        ("if { some } { }", ": some"),
        ("if { $a # b } { }", "syntax error in expression"),
        # disabled, and not there
        ("exec ls", 'command is disabled: "exec"'),
        ("set f [open /etc/passwd]", 'command is disabled: "open"'),
        ("namespace eval x { }", 'command is disabled: "namespace"'),
        ("time { set x 1 }", 'command is disabled: "time"'),
        ("tclLog x", "undefined procedure: tclLog"),
        ("xlog local0.info x", "undefined procedure: xlog"),
        ("HTTP::nothing", "undefined procedure: HTTP::nothing"),
        ("NOBODY::knows", "undefined procedure: NOBODY::knows"),
        ("catch { nobody }", "undefined procedure: nobody"),
        ("clientside { nobody }", "undefined procedure: nobody"),
        ("mine $x\n}\nproc mine {x} {", "undefined procedure: mine"),
        ("set x 1\n}\nproc mine {x} {\ndict get $x", "undefined procedure: dict"),
        # where it does not belong
        ("when HTTP_RESPONSE { }", "command is not valid in the current scope"),
        ("proc x {} { }", "command is not valid in the current scope"),
        ("else { }", "undefined procedure: else"),
        ("if {1}", 'missing a script after "if"'),
        ("if {1}\n\n{ set x 1 }", 'missing a script after "if"'),
        ("if {1}\n# why\n{ set x 1 }", 'missing a script after "if"'),
        ("if {1}\n  \n{ set x 1 }", 'missing a script after "if"'),
        ("if {0} { set x 1 }\n\nelse { set x 2 }", "undefined procedure: else"),
        ("if {0} { set x 1 }\n# why\nelse { set x 2 }", "undefined procedure: else"),
        ("if {0}{ set x 1 }else{ set x 2 }", "extra words"),
        ("if{1}{ set x 1 }", "undefined procedure: if{1}{"),
        ("catch { set x 1 }\nerrv", "undefined procedure: errv"),
        ("set\nq 5", "wrong # args"),
        ("incr\nc", "wrong # args"),
        ("append\ns a", "wrong # args"),
        ("string\nlength abc", "wrong # args"),
        ("lindex\n$x 1", "wrong # args"),
        ("llength\n$x", "wrong # args"),
        ("expr\n1+1", "wrong # args"),
        ("while {1}\n\n{ set x 1 }", "wrong # args"),
        ("for {set i 0} {$i < 3} {incr i}\n\n{ set x 1 }", "wrong # args"),
        ("set x {a}{b}", 'wrong # args: should be "set varName ?newValue?"'),
        ("switch $x {a {set y 1}b {set y 2}}", "extra characters after close-brace"),
        ("list {a}{", "missing close-brace"),
        ("if {1} { } else if {2} { }", "extra words"),
        ("if {1} { } { } { }", "extra words"),
        ("table put a 1", 'bad option "put"'),
        ("table lookup -mustexist a", 'bad option "-mustexist"'),
        ("table incr -subtable", 'bad option "-subtable"'),
        ("table keys -count", "wrong # args"),
    ],
)
def test_refused_in_an_event(body, reason):
    assert reason in refusal(in_event(body))


@rows(
    ("text", "reason"),
    [
        ("when NOTHING_KNOWN { }", "unknown event (NOTHING_KNOWN)"),
        ("when lower { }", "unknown event (lower)"),
        ("when HTTP_REQUEST", "wrong # args"),
        ("when HTTP_REQUEST { } junk", 'unexpected extra argument "junk"'),
        ("when HTTP_REQUEST often 3 { }", 'unexpected extra argument "often"'),
        ("when HTTP_REQUEST priority 1001 { }", 'unexpected extra argument "1001"'),
        ("when HTTP_REQUEST priority -1 { }", 'unexpected extra argument "-1"'),
        ("priority 1001\nwhen HTTP_REQUEST { }", 'unexpected extra argument "1001"'),
        ("priority\nwhen HTTP_REQUEST { }", "unexpected extra argument"),
        ("when HTTP_REQUEST { }\nwhen HTTP_REQUEST { }", "Duplicate event (HTTP_REQUEST)"),
        ("set a 1", "undefined procedure: set"),
        ("proc x {}", "wrong # args"),
        ("when HTTP_REQUEST { if {1} {", "missing close-brace"),
        ("when HTTP_REQUEST { } }", 'unexpected extra argument "}"'),
        ("when HTTP_REQUEST { }\n{ }", "unexpected extra argument"),
        ("when HTTP_REQUEST\n\n{ }", "wrong # args"),
        ("when HTTP_REQUEST { set a [foo }", "missing close-bracket"),
        ('when HTTP_REQUEST { set a "x }', 'missing "'),
        ("when HTTP_REQUEST {set a {b}c }", "wrong # args"),
        ('when HTTP_REQUEST {set a "b"c }', "wrong # args"),
    ],
)
def test_refused_texts(text, reason):
    assert reason in refusal(text)


def test_line():
    """Counted from the beginning of the rule, also within scripts, lists and brackets."""
    for number, line in enumerate(("nobody", "if { [nobody] } { }", "switch $x {\n a {\nnobody } }")):
        with pytest.raises(SyntaxRefusal) as refused:
            check(in_event(f"set x 1\n\n{line}"))
        assert refused.value.line == 4 + 2 * (number == 2)


EVENTS = ["RULE_INIT", "CLIENT_ACCEPTED", "CLIENT_DATA", "HTTP_REQUEST", "LB_SELECTED", "SERVER_CONNECTED",
          "HTTP_RESPONSE", "CLIENT_CLOSED"]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "valid"),
    [
        # measured on 21.1.0.1, see language.py
        ("HTTP::uri", "yes - - yes yes yes - -"),
        ("HTTP::status", "yes - - - yes - yes -"),
        ("HTTP::respond", "yes - - yes - - yes -"),
        ("HTTP::collect", "yes - - yes yes - yes -"),
        ("IP::client_addr", "- yes yes yes yes yes yes yes"),
        ("IP::server_addr", "- yes yes yes yes yes yes yes"),
        ("TCP::client_port", "- yes yes yes yes yes yes yes"),
        ("TCP::collect", "yes yes yes yes yes yes yes yes"),
        ("TCP::payload", "yes yes yes yes yes yes yes yes"),
        ("LB::server", "- yes yes yes yes yes yes yes"),
        ("SSL::cipher", "- - - yes yes - yes -"),
        ("pool", "- yes yes yes yes yes yes yes"),
        ("node", "- yes yes yes yes yes yes yes"),
        ("table", "- yes yes yes yes yes yes yes"),
    ],
)
def test_commands_in_events(command, valid):
    for event, word in zip(EVENTS, valid.split(), strict=True):
        text = in_event(command, event)
        if word == "yes":
            check(text)
        else:
            assert refusal(text) == f"command is not valid in current event context ({event})"


@rows(
    "body",
    [
        'if { [HTTP::host] equals "a" and not ([HTTP::uri] starts_with "/x") } { pool /P/p }',
        'switch -glob [HTTP::path] {\n"/a" -\n"/b*" { reject }\ndefault { drop }\n}',
        'switch -- $x "a" { reject } b { drop }',
        "binary scan [TCP::payload] @${n}a${m}cSI* a b c d",
        "set x [expr { ($a & 0xffff) << 2 > 1e3 ? int(2.5) : $b($c) eq {x} }]",
        "set x [expr { true && $::a ne ${b c} || [info exists static::x] }]",
        "puts x; trace variable x w y; after 100 { set x 1 }; upvar 1 a b",
        "call mine 1 2; call /P/r::mine",
        "$command a b; [set c] x; set x ${a b}c; binary scan $x @${a b}c y",
        'HSL::send $h "x"; DNS::question name; STREAM::disable; ACCESS::session sid',
        "# a comment with a { brace }\nset a 1; # another one",
        'log local0.err "a [HTTP::method] b"',
        "set x {dict in ** exec}; lsearch -glob $x y; string is integer -strict $x",
        "if 1 then { set x 1 } elseif 2 then { set x 2 }",
        "for {set i 0}\n  {$i < 3}\n  {incr i} {\n set x $i }",
        "for {set i 0} {$i < 3} {incr i}\n{\n set x $i\n}",
        "if { $a == 1 }\n{ set x 1 }\nelseif { $a == 2 }\n{ set x 2 }\nelse\n{ set x 3 }",
        "if\n{1}\n{ set x 1 }",
        "while {$n < 3}\r\n\t{ incr n }",
        "switch $x\n{ a { set y 1 } }",
        "table set -subtable $t -excl $k 1 indefinite 60; table $verb a; table keys -subtable $t -count",
        "if {1}{ set x 1 }",
        "catch {set x 1}problem",
        "list {*}$x; list {a}]",
    ],
)
def test_accepted(body):
    check(in_event(body))


def test_accepted_texts():
    check("priority 200\ntiming on\nwhen HTTP_REQUEST { }\nwhen HTTP_REQUEST priority 1000 timing off { }")
    check("when CLIENT_ACCEPTED priority 0 { }\nproc mine {a {b 2}} { return [expr { $a + $b }] }")
    check("when CLIENT_ACCEPTED\n{\n}\nproc mine {a}\n{\n return $a }\nwhen HTTP_REQUEST priority 3\n{ }")
    facts = check("when RULE_INIT { log x }\nwhen LB_FAILED { if { [LB::server] eq {} } { reject } }")
    assert facts.events == ("RULE_INIT", "LB_FAILED")
    assert facts.commands == {"log", "if", "LB::server", "reject"}


@pytest.mark.parametrize("text", [
    irules.passthrough_irule("/P"), irules.reencrypt_irule("/P"), irules.unavailable_irule("/P"),
], ids=["passthrough", "reencrypt", "unavailable"])
def test_our_own(text):
    """Accepted, and no word of it is one that TMM takes for two: `{*}` would be no expansion there."""
    check(text)
    assert rewritten(text) == text


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value["apiAnonymous"]] if value.get("kind") == "tm:ltm:rule:rulestate" else []
        return own + [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else []


def test_rules_of_real_devices():
    """Rules that were recorded whole are taken."""
    texts = [text for file in RECORDINGS.rglob("*.json") for text in _texts(json.loads(file.read_text()))]
    whole = [text for text in texts if text.startswith("when ")]
    assert whole
    for text in whole:
        check(text)


def test_names_do_not_contradict_each_other():
    """A command is there, disabled, or newer."""
    assert not language.TCL & (language.DISABLED | language.NEWER)
    assert not language.DISABLED & language.NEWER
    assert len(language.TCL) == 52
    assert len(language.DISABLED) == 31
    assert all(rulecheck.is_known(name) for name in language.NOT_IN)
    assert {event for events in language.NOT_IN.values() for event in events} <= language.EVENTS

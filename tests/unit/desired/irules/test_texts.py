"""The texts of the iRules: what TMOS takes, and what may be filled in."""

import contextlib
import hashlib
import re
from functools import partial
from importlib import resources

import pytest

from f5router.desired import irules
from f5router.desired.irules import headers
from f5router.model.http_edge import ErrorPage, UniqueID, parse_id_format
from f5router.model.virtual_server import FrontEndLimits
from mocks.bigip.tmm import RuleError
from tests.rows import rows
from tests.unit.desired.irules.tmm import Tmm

PAGE = ErrorPage(404, tuple((f"X-Header-{number}", "x" * 100) for number in range(20)),
                 bytes(range(256)) * 118)
"""About as large as it may be."""
TEXTS = [
    pytest.param(irules.passthrough_irule, id="passthrough"),
    pytest.param(partial(irules.passthrough_irule, proxied=True), id="passthrough, PROXY protocol"),
    pytest.param(irules.proxy_irule, id="PROXY protocol"),
    pytest.param(partial(irules.request_irule, page=True, proxied=True), id="request, PROXY protocol"),
    pytest.param(irules.reencrypt_irule, id="reencrypt"),
    pytest.param(irules.unavailable_irule, id="unavailable"),
    pytest.param(partial(irules.unavailable_irule, page=PAGE), id="unavailable with a page"),
    pytest.param(partial(irules.not_found_irule, page=PAGE), id="not found"),
    pytest.param(partial(irules.request_irule, page=PAGE), id="request with a page"),
    pytest.param(irules.limits_irule, id="limits"),
    pytest.param(irules.timeout_irule, id="timeout"),
    pytest.param(partial(irules.timeout_irule, limits=FrontEndLimits(
        head_ms=1, hello_ms=1, response_s=1, tunnel_s=1, keep_alive_s=1)), id="timeout of a front end"),
    pytest.param(irules.cookie_irule, id="cookie"),
    pytest.param(partial(irules.headers_irule, forwarded="append"), id="headers"),
    pytest.param(partial(irules.headers_irule, forwarded="never", request=["set.61.t_62", "delete.63"],
                         response=["set.61.h_62_lower"]), id="headers with actions"),
    pytest.param(partial(irules.headers_irule, forwarded="append",
                         with_id=UniqueID("X-ID", parse_id_format("'%{+X}o %H %ci " + "a%rt " * 199 + "'"))),
                 id="headers with IDs"),
    pytest.param(partial(irules.headers_irule, forwarded="never", hsts="max-age=1"), id="headers with HSTS"),
    pytest.param(partial(irules.headers_irule, forwarded="append", gateways=True), id="headers, HTTPRoutes"),
    pytest.param(partial(irules.request_irule, page=True), id="request"),
    pytest.param(partial(irules.request_irule, page=False), id="request without page"),
]

WITHOUT_GROUPS = (irules.unavailable_irule, irules.cookie_irule, irules.proxy_irule, *(
    param.values[0] for param in TEXTS if param.id in ("unavailable with a page", "not found")))

# Tcl 8.5 and later, or TMM only; as words at the start of a command or in an expression.
NEWER = r"dict|lassign|lreverse|lrepeat|lmap|apply|try|throw|tailcall|yield|coroutine|proc|call|namespace"
OPERATORS = r"equals|contains|starts_with|ends_with|matches|matches_regex|and|or|not"


@pytest.mark.parametrize("irule", TEXTS)
class TestTexts:
    def test_form(self, irule):
        """Equal to what TMOS gives back: no outer white space; plain ASCII without escapes."""
        text = irule("/Common")
        assert text == text.strip()
        assert text.isascii()
        assert text.isprintable() or set(re.findall(r"[^ -~]", text)) == {"\n"}
        assert "\\" not in text
        assert text.splitlines()[0].startswith("# Managed by f5router")
        assert len(text) < 65520

    def test_tcl_8_4(self, irule):
        """Nothing newer than Tcl 8.4, and nothing that only TMM has in expressions."""
        code = "\n".join(line.split("#")[0] for line in irule("/Common").splitlines())
        assert "{*}" not in code
        assert not re.search(rf"(?m)(^|[\[;{{])\s*({NEWER})\s", code)
        assert not re.search(r"\b(in|ni)\s+[{$\[]", code)
        assert not re.search(r"\belse\s+if\b", code)
        assert not re.search(r"(?m)^\s*(else|elseif)\b", code), "stock Tcl wants it after the brace"
        assert not re.search(r"binary scan \S+ \S*[cSI]u", code), "u is Tcl 8.5"
        without_class_match = re.sub(r"\[class match (-value )?\S+ equals [^\s\]]+\]", "", code)
        without_strings = re.sub(r'"[^"]*"', "", without_class_match)
        assert not re.search(rf"\b({OPERATORS})\b", without_strings)

    def test_data_groups_by_full_path(self, irule):
        """A bare name is looked for in the virtual server's folder."""
        # From the start of a word alone: a page is one of 40,000 characters.
        groups = re.findall(r"(?<!\S)\S*_dg\b", irule("/OpenShift/zone-1.a"))
        assert bool(groups) == (irule not in WITHOUT_GROUPS)
        assert all(group.startswith(("/OpenShift/zone-1.a/ssl_", "/OpenShift/zone-1.a/openshift_"))
                   for group in groups)
        assert "@" not in re.sub(r"@(\$\{f5r_\w+\}|[0-9]+[aH])", "", irule("/Common"))

    @rows("folder", [
        "", "/", "Common", "/Common/", "//Common", "/Common\n", "/a b", "/a;reject", "/[reject]", "/$x",
        "/{", "/}", '/"', "/a\\b", "/\u00e5", "/a#b", "/a@b", "/~",
    ])
    def test_folder_is_plain(self, irule, folder):
        """A folder with a character that Tcl interprets is refused."""
        with pytest.raises(ValueError, match="folder"):
            irule(folder)

    def test_only_our_variables(self, irule):
        """All iRules on a virtual server share the variables of a connection."""
        text = irule("/Common").replace("static::", "")
        names = re.findall(r"\bset (\w+)", text) + re.findall(r"\$\{?(\w+)", text)
        assert names
        assert all(name.startswith(("f5r_", "f5router_")) for name in names)


def test_page():
    """Plain text between quotes of Tcl."""
    assert not set(resources.files(irules).joinpath("unavailable.html").read_text()) & set('"$[]{}\\;@')


def test_packaged():
    """All files are in the package, and no other iRule is."""
    files = {item.name for item in resources.files(irules).iterdir() if item.name.endswith(".tcl")}
    kinds = ("client_certificate",  # test_client_certificate.py
             "headers", "limits", "not_found", "passthrough", "proxy", "reencrypt", "request",
             "session_cookie", "share", "timeout", "unavailable")
    pieces = {"gateway_replies.tcl", "proxy_protocol.tcl"}
    assert files == {f"openshift_{name}_irule.tcl" for name in kinds} | pieces


@pytest.mark.parametrize(("body", "message"), [
    ("while {1} { set f5r_x 1 }", "limit"),
    ("for {set i 0} {$i < 100000} {incr i} {}", "limit"),
    ("set f5r_x $unset", "no such variable"),
    ("dict create", "invalid command"),
    ("TCP::release", "without TCP::collect"),
    ("class match -x equals /g", "option"),
    ("class match x equals /g", "no such group"),
])
def test_the_stand_in_finds_faults(tmm, body, message):
    """The stub and the engine would notice what the other tests say never happens."""
    with pytest.raises(RuleError, match=message):
        tmm.run([f"when CLIENT_ACCEPTED {{ {body} }}"], groups={})


def test_the_stand_in_ends_a_loop_without_commands():
    """It is never over, so no machine is too slow for a short limit."""
    with contextlib.closing(Tmm(limit_s=0.1)) as tmm, pytest.raises(RuleError, match="limit"):
        tmm.run(["when CLIENT_ACCEPTED { while {1} {} }"], groups={})


def test_missing_tclsh(monkeypatch, tmp_path):
    """Without tclsh the tests fail and say what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="Debian package tcl"):
        Tmm()


@pytest.mark.parametrize("action", [
    "", "set", "set.x", "set.61.t_62]", "delete.61;", "set.61.t_62/", "Set.61", "set.61.$x", "set.61.t_62\n"])
def test_an_action_is_words(action):
    with pytest.raises(ValueError, match="unknown"):
        irules.headers_irule("/Common", forwarded="append", response=[action])


@rows(("irule", "digest"), [
    (irules.passthrough_irule, "b20b81ba507a"),
    (partial(irules.passthrough_irule, source=True, proxied=True, strict=True), "6bd9ee5bac7d"),
    (partial(irules.request_irule, page=True), "30813cdf856d"),
    (partial(irules.request_irule, page=False, cookie="ck", proxied=True), "4201697d8f7f"),
    (partial(irules.headers_irule, forwarded="append"), "e05cded1973f"),
    (partial(irules.headers_irule, forwarded="never", request=["set.61.t_62"]), "c081d6407dc9"),
    (irules.reencrypt_irule, "bcb71d2f3300"), (irules.timeout_irule, "f2c6014c5eba"),
    (irules.unavailable_irule, "a10063a39e6d"), (irules.cookie_irule, "a9018db302db"),
    (irules.limits_irule, "005485a1f29c"), (irules.proxy_irule, "266adae37972"),
])
def test_an_upgrade_does_not_write_it(irule, digest):
    """The text is that of the release before: where it has to change, CHANGELOG.md says what it costs."""
    assert hashlib.sha256(irule("/Common").encode()).hexdigest()[:12] == digest


SHARED = {"f5r_earlier", "f5r_before"}
"""Variables of one iRule that openshift_not_found_irule is meant to read."""


def kept(text: str) -> set[str]:
    """Return the scratch variables that an iRule reads in an event without having set them there."""
    names: set[str] = set()
    for handler in re.split(r"(?m)^when ", text)[1:]:
        code = "\n".join(line for line in handler.splitlines() if not line.lstrip().startswith("#"))
        reads = set(re.findall(r"\$\{?(f5r_\w+)|info exists (f5r_\w+)", code))
        code = re.sub(r"(?:info exists|unset) f5r_\w+", "", code)
        bare = set(re.findall(r"(?<![$\w{])(f5r_\w+)", code))
        names |= {name for pair in reads for name in pair if name} - bare
    return names


def test_what_an_irule_keeps_is_its_own():
    """Variables outlive an event, and all iRules on a virtual server share them."""
    texts, replies = {}, resources.files(irules).joinpath("gateway_replies.tcl").read_text()
    for item in resources.files(irules).iterdir():
        if item.name.endswith(".tcl"):
            texts[item.name] = headers.fill(item.read_text(), replies=replies).replace(
                "@TLV@", "set f5r_len 0")
    assert "f5r_response" in kept(texts["openshift_headers_irule.tcl"])
    for name, text in texts.items():
        others = "\n".join(other for key, other in texts.items() if key != name)
        taken = {variable for variable in kept(text) if re.search(rf"(?<![$\w]){variable}\b", re.sub(
            r"info exists f5r_\w+", "", others))}
        assert taken <= SHARED, f"{name}: another iRule sets it too"


@pytest.mark.parametrize("piece", ["", "t_", "t_6", "t_61]", "ci_x ", "$x", "ci;", "ci\n", "_x", "}", "ci_z"])
def test_a_piece_of_an_id_is_a_word(piece):
    with pytest.raises(ValueError, match="unknown"):
        irules.headers_irule("/Common", forwarded="append", with_id=UniqueID("a", (piece,)))

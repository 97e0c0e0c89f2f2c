"""Objects of the administrator that Routes may name."""

from dataclasses import replace

import pytest

from f5router.admission.admission import AdmissionPolicy, check
from f5router.admission.route_options import is_allowed, parse_allowed, parse_path, waf_refusal
from tests.builders import route
from tests.rows import rows
from tests.unit.admission.test_route_options import HOSTILE


@pytest.mark.parametrize(("text", "allowed"), [
    ("", {}), (" ", {}), ("/Common/a=shop", {"/Common/a": {"shop"}}),
    ("/Common/a=shop,pay\t/P/f/b=*", {"/Common/a": {"shop", "pay"}, "/P/f/b": {"*"}}),
    ("/Common/a=shop /Common/a=pay", {"/Common/a": {"shop", "pay"}}),
])
def test_settings(text, allowed):
    assert parse_allowed(text) == allowed


@rows("text", [
    *(text for text in HOSTILE if text.strip()), "/Common/a", "/Common/a=", "a=shop", "/a=shop",
    "/Common/a=Shop", "/Common/a=shop,", "/Common/a=shop;b", "/Common/a b=shop", "/Common/../a=*",
    "/Common//a=*", f"/Common/{'x' * 255}=*"], ids=lambda text: ascii(text[:20]))
def test_bad_settings(text):
    with pytest.raises(ValueError, match="is not") as problem:
        parse_allowed(text)
    assert str(problem.value).isprintable()


@rows("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_what_is_no_path(text):
    with pytest.raises(ValueError, match="full path"):
        parse_path(text)


@pytest.mark.parametrize(("path", "namespace", "expected"), [
    ("/Common/a", "shop", True), ("/Common/a", "pay", False), ("/Common/b", "pay", True),
    ("/Common/c", "shop", False), ("/common/a", "shop", False), ("", "shop", False),
    ("/Common/a", "*", False),
])
def test_who_may_name_what(path, namespace, expected):
    assert is_allowed(parse_allowed("/Common/a=shop /Common/b=*"), path, namespace) == expected


@rows(("waf", "termination", "admitted"), [
    ("", "", True), ("/Common/a", "", True), ("/Common/a", "edge", True), ("/Common/a", "reencrypt", True),
    ("/Common/a", "passthrough", False), ("/Common/b", "edge", False), ("/Common/A", "edge", False),
    ("/Common/a /Common/b", "edge", False), *((text, "edge", False) for text in HOSTILE if text.strip()),
])
def test_a_protection_is_enforced_or_the_route_is_refused(waf, termination, admitted):
    refusal = waf_refusal(waf, "shop", termination, parse_allowed("/Common/a=shop"))
    assert (refusal == "") == admitted
    assert refusal.isprintable()
    assert len(refusal) < 400


def test_admission():
    asking = replace(route("a", kind="edge"), waf="/Common/a")
    for text, admitted in (("/Common/a=shop", True), ("/Common/a=pay", False), ("", False)):
        result = check(asking, AdmissionPolicy(waf_policies=parse_allowed(text)))
        assert (result.rejection is None) == admitted
        assert result.claims

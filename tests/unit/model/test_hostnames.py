"""Hosts and domains, with the source of each row.

Seeds are the documents of OKD 3.11 (000), OpenShift 3.6 (001) and 3.11 (002), whose examples these are.
Upstream is openshift/router: pkg/cmd/infra/router/router.go, host_admitter_test.go.
"""

import contextlib
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import admission
from f5router.admission.admission import Naming
from f5router.model import hostnames
from f5router.model.findings import INVALID_HOST, NO_HOST, NOT_ADMITTED
from tests import strategies
from tests.builders import route
from tests.rows import rows

DENIED = {"denied": hostnames.domains("open.header.test, openshift.org, block.it")}
ALLOWED = {"allowed": hostnames.domains("stickshift.org, kates.net")}
BOTH = {"allowed": hostnames.domains("openshift.org, kates.net"),
        "denied": hostnames.domains("ops.openshift.org, metrics.kates.net")}
FIRST = {"allowed": hostnames.domains("a.b"), "denied": hostnames.domains("a.b")}
FORBIDDEN, OUTSIDE = "list of denied domains", "not in the allowed list"

LISTS = [
    ("seed 000", DENIED, "foo.header.test", ""),
    ("seed 000", DENIED, "www.allow.it", ""),
    ("seed 000", DENIED, "www.openshift.test", ""),
    ("seed 000", DENIED, "open.header.test", FORBIDDEN),
    ("seed 000", DENIED, "www.open.header.test", FORBIDDEN),
    ("seed 000", DENIED, "block.it", FORBIDDEN),
    ("seed 000", DENIED, "franco.baresi.block.it", FORBIDDEN),
    ("seed 000", DENIED, "openshift.org", FORBIDDEN),
    ("seed 000", DENIED, "api.openshift.org", FORBIDDEN),
    ("seed 000", ALLOWED, "stickshift.org", ""),
    ("seed 000", ALLOWED, "www.stickshift.org", ""),
    ("seed 000", ALLOWED, "kates.net", ""),
    ("seed 000", ALLOWED, "api.kates.net", ""),
    ("seed 000", ALLOWED, "erno.r.kube.kates.net", ""),
    ("seed 000", ALLOWED, "www.open.header.test", OUTSIDE),
    ("seed 000", ALLOWED, "drive.ottomatic.org", OUTSIDE),
    ("seed 000", ALLOWED, "www.wayless.com", OUTSIDE),
    ("seed 000", ALLOWED, "www.deny.it", OUTSIDE),
    ("seed 001", BOTH, "www.open.header.test", OUTSIDE),
    ("seed 001", BOTH, "ops.openshift.org", FORBIDDEN),
    ("seed 001", BOTH, "log.ops.openshift.org", FORBIDDEN),
    ("seed 001", BOTH, "www.block.it", OUTSIDE),
    ("seed 001", BOTH, "metrics.kates.net", FORBIDDEN),
    ("seed 001", BOTH, "int.metrics.kates.net", FORBIDDEN),
    ("seed 001", BOTH, "openshift.org", ""),
    ("seed 001", BOTH, "api.openshift.org", ""),
    ("seed 001", BOTH, "m.api.openshift.org", ""),
    ("seed 001", BOTH, "kates.net", ""),
    ("seed 001", BOTH, "api.kates.net", ""),
    ("parity 3.2: denied first", FIRST, "a.b", FORBIDDEN),
    ("parity 3.2: denied first", FIRST, "x.a.b", FORBIDDEN),
    ("parity 3.2: labels, not characters", DENIED, "unblock.it", ""),
    ("parity 3.2: labels, not characters", ALLOWED, "notkates.net", OUTSIDE),
    ("parity 3.2: the domain, not above it", DENIED, "header.test", ""),
    ("parity 3.2: the domain, not above it", ALLOWED, "net", OUTSIDE),
    ("upstream hostInDomainList: a name in capitals is found too", DENIED, "WWW.block.it", FORBIDDEN),
    ("seed 002: open.header.test,, is one domain", {"denied": hostnames.domains("open.header.test,,")},
     "www.open.header.test", FORBIDDEN),
    ("seed 002: , is no domain", {"allowed": hostnames.domains(",")}, "www.wayless.com", ""),
    ("parity 0: blanks are trimmed, empty items dropped",
     {"denied": hostnames.domains(" a.b ,, c.d ,")}, "x.c.d", FORBIDDEN),
]


def check(host, *, subdomain="", policy="None", name="a", namespace="shop", **settings):
    asking = replace(route(name, namespace=namespace, host=host), subdomain=subdomain, wildcard_policy=policy)
    return admission.check(asking, admission.AdmissionPolicy(**settings))


@rows(("source", "lists", "host", "message"), LISTS)
def test_domain_lists(source, lists, host, message):
    rejection = check(host, **lists).rejection
    if not message:
        assert rejection is None
    else:
        assert rejection.reason == NOT_ADMITTED
        assert rejection.message.startswith(f"spec.host: '{host}': host ")
        assert message in rejection.message


def test_what_the_lists_refuse_claims_nothing():
    """Upstream HostAdmitter: it is not passed on to UniqueHost."""
    assert not check("block.it", **DENIED).claims
    assert not check("a.b", **ALLOWED).claims


TEMPLATE = Naming(template="${name}-${namespace}.apps.example.com")
OVERRIDE = replace(TEMPLATE, override=True)
SOME = replace(TEMPLATE, override_domains=frozenset({"example.org"}))
DOMAIN = Naming(domain="apps.example.com")
MADE = "a-shop.apps.example.com"

LONG = ".".join(["x" * 62] * 4) + ".x"
TENS = "-".join(["1234567890"] * 4)
SPELLED = "name-namespace." + ".".join(f"{letter}1234567890" for letter in "abcdefghijklmnopqr")

NAMES = [
    ("parity 1.3.3", Naming(), "", "", ""),
    ("parity 1.3.2", Naming(), "h.b", "", "h.b"),
    ("seed 002: ROUTER_SUBDOMAIN", TEMPLATE, "", "", MADE),
    ("parity 1.3.2", TEMPLATE, "h.b", "", "h.b"),
    ("seed 002: ROUTER_OVERRIDE_HOSTNAME", OVERRIDE, "h.b", "", MADE),
    ("parity 1.3.2", OVERRIDE, "", "", MADE),
    ("seed 002: ROUTER_OVERRIDE_DOMAINS", SOME, "example.org", "", MADE),
    ("seed 002: ROUTER_OVERRIDE_DOMAINS", SOME, "a.b.example.org", "", MADE),
    ("parity 1.3.2", SOME, "notexample.org", "", "notexample.org"),
    ("parity 1.3.2", SOME, "", "", MADE),
    ("parity 1.3.1", DOMAIN, "", "s", "s.apps.example.com"),
    ("parity 1.3.1", DOMAIN, "h.b", "s", "h.b"),
    ("parity 1.3.1", DOMAIN, "", "", ""),
    ("parity 1.3.1", Naming(), "", "s", ""),
    ("upstream RouteUpdate: subdomain first", replace(TEMPLATE, domain="d.e"), "", "s", "s.d.e"),
    ("upstream RouteUpdate: then the template", replace(OVERRIDE, domain="d.e"), "", "s", MADE),
    ("upstream RouteUpdate: also of what it made", replace(SOME, domain="example.org"), "", "s", MADE),
    ("os.Expand: $name", Naming(template="$name.$namespace.x"), "", "", "a.shop.x"),
    ("seed 000: ROUTER_SUBDOMAIN", Naming(template="${name}-${namespace}.myapps.mycompany.com"), "", "",
     "a-shop.myapps.mycompany.com"),
    ("parity 1.3.2: the quotes of a shell",
     Naming(template=hostnames.template("'${name}.x'")), "", "", "a.x"),
    ("os.Expand: a constant", Naming(template="one.host.x"), "", "", "one.host.x"),
]


@rows(("source", "naming", "host", "subdomain", "wanted"), NAMES)
def test_names(source, naming, host, subdomain, wanted):
    checked = check(host, subdomain=subdomain, naming=naming)
    assert checked.route.host == wanted
    assert (checked.rejection.reason if checked.rejection else "") == ("" if wanted else NO_HOST)


@given(st.builds(Naming, domain=st.sampled_from(["", "x.y"]), template=st.sampled_from(["", "$name.x.y"]),
                 override=st.booleans(), override_domains=st.sampled_from([frozenset(), frozenset({"x.y"})])),
       strategies.HOSTS | st.just(""), st.sampled_from(["", "s"]))
def test_naming_twice_changes_nothing(naming, host, subdomain):
    """The full pass starts from Routes that have been named."""
    named = check(host, subdomain=subdomain, naming=naming).route
    assert admission.check(named, admission.AdmissionPolicy(naming=naming)).route == named


def test_without_a_host_the_lists_say_nothing():
    """Source: parity 3.2: skipped if the host is empty; then UniqueHost has its reason."""
    assert check("", **ALLOWED).rejection.reason == NO_HOST


VALID_HOSTS = [
    ("TestValidateHostName: valid-host-name", "www.example.test", True),
    ("TestValidateHostName: invalid-host-name", f"name-namespace-{TENS}-{TENS}.example.test", False),
    ("TestValidateHostName: 63-chars-label", f"name-namespace-{TENS}-1234.example.test", True),
    ("TestValidateHostName: 64-chars-label", f"name-namespace-{TENS}-12345.example.test", False),
    ("TestValidateHostName: valid-name-253-chars", f"{SPELLED}.s12345678.example.test", True),
    ("issue: 254 characters", f"{SPELLED}.s123456789.example.test", False),
    ("TestValidateHostName: invalid-name-279-chars", f"{SPELLED}.s1234567890.t1234567890.u1234567890.x.test",
     False),
    ("TestValidateHostName: invalid-name-asterisk", "*", False),
    ("library-go #1335: one or more labels", "host", True),
    ("library-go #1335: no dot at the end", "www.example.test.", False),
    ("library-go #1335: no dot at the beginning", ".example.test", False),
    ("library-go #1335: characters of a label", "a_b.example.test", False),
    ("library-go #1335: a label begins with a letter or digit", "www.-a.test", False),
    ("library-go #1335: a label ends with a letter or digit", "www.a-.test", False),
    ("RFC 1123 2.1: digits only", "1.2.test", True),
    ("RFC 5890 2.3.2.1: a name of other letters, as DNS has it", "xn--bcher-kva.example.test", True),
    ("RFC 5890 2.3.2.1: a name of other letters", "bücher.example.test", False),
]


@pytest.mark.parametrize(("source", "host", "valid"), VALID_HOSTS, ids=[row[0] for row in VALID_HOSTS])
def test_valid_hosts(source, host, valid):
    """Upstream's are openshift/router unique_host_test.go and, newer, openshift/library-go ValidateHost."""
    checked = check(host)
    assert (checked.rejection.reason if checked.rejection else "") == ("" if valid else INVALID_HOST)
    assert checked.claims == valid


@pytest.mark.parametrize(("source", "naming", "host", "subdomain", "field"), [
    ("issue: 254 characters", Naming(), ".".join(["x" * 50] * 5), "", "spec.host"),
    ("issue: *", Naming(), "*", "", "spec.host"),
    ("issue: names that differ only in case", Naming(), "Www.example.com", "", "spec.host"),
    ("issue: 254 characters", Naming(domain="d" * 60), "", ".".join(["s" * 48] * 4), "spec.subdomain"),
    ("issue: *", DOMAIN, "", "*", "spec.subdomain"),
    ("issue: 254 characters", Naming(template="$name." + LONG), "", "", "--hostname-template"),
])
def test_bad_hosts(source, naming, host, subdomain, field):
    checked = check(host, subdomain=subdomain, naming=naming)
    assert checked.rejection.reason == INVALID_HOST
    assert checked.rejection.message.startswith(f"{field}: '")
    assert len(checked.rejection.message) < 250
    assert not checked.claims


@pytest.mark.parametrize(("text", "words"), [
    ("http://a.b", "not a URL"), ("a.b/", "not a URL"), ("a.b:80", "without a port"),
    ("a.b:", "without a port"), ("*.a.b", "without '*'"), (".a.b", "without '*'"), ("A.b", "upper-case"),
    ("a b", "label"), ("a.b.", "label"), ("a_b", "label"), ("x" * 64, "label"),
    (".".join(["x" * 50] * 5), "254 characters"),
])
def test_bad_domains(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        hostnames.domain(text)


@pytest.mark.parametrize(("text", "words"), [
    ("${nme}.a", "${nme} is unknown"), ("$nam.a", "$nam is unknown"), ("$name_x.a", "$name_x is unknown"),
    ("${name", "without a name"), ("$.a", "without a name"), ("$$name.a", "without a name"),
    ("${}.a", "${} is"), ("$name.A", "upper-case"), ("*.a", "label '*'"), ("$name..a", "label ''"),
    ("${name}:80", "label"),
])
def test_bad_templates(text, words):
    with pytest.raises(ValueError, match=re.escape(repr(text))) as caught:
        hostnames.template(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["$name.a", "${name}-${namespace}.a", "\"$name.a\"", "'$name.a'", "a"])
def test_good_templates(text):
    """Source: parity 1.3: the quotes around one are stripped."""
    assert hostnames.template(text) == text.strip("\"'")


@given(st.text(max_size=20))
def test_no_text_breaks_a_parser(text):
    for parse in (hostnames.domain, hostnames.domains, hostnames.template):
        with contextlib.suppress(ValueError):
            parse(text)


DOMAINS = st.sets(st.sampled_from(["a", "a.a", "a.a.a", ".a", "a" * 253]), min_size=1)


@given(st.text("a.", max_size=600), DOMAINS)
def test_a_host_of_any_length_lies_in_a_domain(host, domains):
    """A text that cannot be a Host may be refused for its domain; its length costs nothing."""
    suffixes = {host} | {host[place + 1:] for place, letter in enumerate(host) if letter == "."}
    assert hostnames.within(host, domains) == bool(suffixes & domains)
    assert hostnames.within("a." * 1_000_000 + "b", domains) is False


def test_a_long_text_is_quoted_in_short():
    """At most 60 characters of user text are looked at."""
    for text in ("a" * 58, "a" * 59, "é" * 30, "é" * 1_000_000, "'" * 70):
        assert hostnames.quote(text) == (ascii(text) if len(ascii(text)) <= 60 else f"{ascii(text)[:57]}...'")

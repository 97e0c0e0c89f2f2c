"""Lists of cipher suites: OpenSSL's words, what becomes of them, and a BIG-IP's names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import cipher_suites
from f5router.model.cipher_suites import F5_NAMES, f5_string, parse, parse_tls13
from mocks.bigip import cipher_names

EC, RSA = "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"


@pytest.mark.parametrize(("text", "count"), [("modern", 10), ("intermediate", 30), ("old", 30)])
def test_named_lists(text, count):
    suites, unknown = parse(text)
    assert (len(suites), unknown) == (count, ())
    assert ("DES-CBC3-SHA" in suites) is (text != "modern")


@pytest.mark.parametrize(("text", "suites"), [
    pytest.param(f"{RSA}:{EC}", (RSA, EC), id="their order stays"),
    pytest.param(f"{RSA},{EC} {RSA}", (RSA, EC), id="commas, blanks, twice"),
    pytest.param("EDH-RSA-DES-CBC3-SHA", ("DHE-RSA-DES-CBC3-SHA",), id="older name"),
    pytest.param("EECDH+AESGCM:!AES256", (EC, RSA), id="group without a part"),
    pytest.param("kEDH+AESGCM", ("DHE-RSA-AES256-GCM-SHA384", "DHE-RSA-AES128-GCM-SHA256"), id="group"),
    pytest.param(f"!{EC}:{EC}:{RSA}", (RSA,), id="killed for good"),
    pytest.param(f"{EC}:-{EC}:{RSA}:{EC}", (RSA, EC), id="removed, and again"),
    pytest.param(f"{EC}:{RSA}:+{EC}", (RSA, EC), id="moved to the end"),
    pytest.param(f"{RSA}:!aNULL:!DSS:!RC4:SEED", (RSA,), id="what no BIG-IP has"),
])
def test_lists(text, suites):
    assert parse(text) == (suites, ())


def test_high_leaves_weak_ones_out():
    suites, _ = parse("HIGH:!aNULL:!MD5")
    assert set(suites) == {name for name in F5_NAMES if "DES" not in name}


def test_unknown_words_are_told():
    assert parse(f"{RSA}:NO-SUCH:@STRENGTH:{{x}}") == ((RSA,), ("NO-SUCH", "@STRENGTH", "{x}"))


@pytest.mark.parametrize(("text", "words"), [
    ("NO-SUCH", "'NO-SUCH' leaves no cipher suite"), ("SEED:!AES", "leaves no cipher suite"),
    (f"{RSA}:!AESGCM", "leaves no cipher suite"), (":", "leaves no cipher suite"),
    (f"{RSA}:!NO-SUCH", "'!NO-SUCH': it is not known which cipher suites that leaves out"),
    (f"{RSA}:-x;y", "it is not known"),
])
def test_problems(text, words):
    with pytest.raises(ValueError, match="cipher suite") as caught:
        parse(text)
    assert words in str(caught.value)


def test_tls_13():
    assert parse_tls13("TLS_AES_128_GCM_SHA256:TLS_AES_128_CCM_SHA256") == (
        ("TLS_AES_128_GCM_SHA256",), ("TLS_AES_128_CCM_SHA256",))
    with pytest.raises(ValueError, match="leaves no cipher suite of TLS"):
        parse_tls13("TLS_AES_128_CCM_SHA256")


@pytest.mark.parametrize("version", [(11, 6, 0), (13, 1, 3), (14, 0, 0), (17, 1, 0)])
@pytest.mark.parametrize("name", cipher_suites.NAMED)
def test_every_word_is_one_of_the_version(name, version):
    """The fake has a table of its own."""
    suites, _ = parse(name)
    text = f5_string(suites, cipher_suites.TLS13, version)
    assert cipher_names.unknown(text, version) == ""
    assert ("TLS13-" in text, "CHACHA20" in text) == (version >= (14,), version >= (14,))
    openssl = [cipher_names.OPENSSL[word] for word in text.split(":")]
    assert [suite for suite in openssl if not suite.startswith("TLS_")] == [
        suite for suite in suites if version >= (14,) or "CHACHA20" not in suite]


def test_none_that_the_version_has_is_no_default():
    """The device refuses the list, whose words it does not know."""
    text = f5_string(("ECDHE-RSA-CHACHA20-POLY1305",), (), (13, 1))
    assert text == "ECDHE-RSA-CHACHA20-POLY1305-SHA256"
    assert cipher_names.unknown(text, (13, 1)) == text


@given(st.text())
def test_no_word_of_a_setting_reaches_the_device(text):
    try:
        suites, _ = parse(text)
    except ValueError:
        return
    assert set(suites) <= F5_NAMES.keys()

"""Cipher suites by OpenSSL's names, as HAProxy's router accepts them, and by the BIG-IP's names.

A BIG-IP has words of its own for groups of suites, with other meanings. So every list becomes one of single
suites, and no word of a setting reaches the device. Sources: openssl-ciphers(1); openshift/router,
haproxy-config.template (the three named lists). F5's names: clouddocs, SSL::cipher; the documents of F5 that
list what `tmm --clientciphers` prints (K13163).
"""

import re
from collections.abc import Callable, Iterable, Mapping

from f5router.model import tmos

F5_NAMES: Mapping[str, str] = {
    "ECDHE-ECDSA-AES256-GCM-SHA384": "", "ECDHE-RSA-AES256-GCM-SHA384": "",
    "ECDHE-ECDSA-CHACHA20-POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305-SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305": "ECDHE-RSA-CHACHA20-POLY1305-SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256": "", "ECDHE-RSA-AES128-GCM-SHA256": "",
    "DHE-RSA-AES256-GCM-SHA384": "", "DHE-RSA-AES128-GCM-SHA256": "",
    "ECDHE-ECDSA-AES256-SHA384": "", "ECDHE-RSA-AES256-SHA384": "",
    "ECDHE-ECDSA-AES128-SHA256": "", "ECDHE-RSA-AES128-SHA256": "",
    "DHE-RSA-AES256-SHA256": "", "DHE-RSA-AES128-SHA256": "",
    "ECDHE-ECDSA-AES256-SHA": "", "ECDHE-RSA-AES256-SHA": "ECDHE-RSA-AES256-CBC-SHA",
    "ECDHE-ECDSA-AES128-SHA": "", "ECDHE-RSA-AES128-SHA": "ECDHE-RSA-AES128-CBC-SHA",
    "DHE-RSA-AES256-SHA": "", "DHE-RSA-AES128-SHA": "",
    "AES256-GCM-SHA384": "", "AES128-GCM-SHA256": "", "AES256-SHA256": "", "AES128-SHA256": "",
    "AES256-SHA": "", "AES128-SHA": "",
    "ECDHE-ECDSA-DES-CBC3-SHA": "", "ECDHE-RSA-DES-CBC3-SHA": "",
    "DHE-RSA-DES-CBC3-SHA": "", "DES-CBC3-SHA": "",
}
"""OpenSSL's name of each suite up to TLS 1.2 to the BIG-IP's, "" for the same; strongest first."""

TLS13: Mapping[str, str] = {
    "TLS_AES_256_GCM_SHA384": "TLS13-AES256-GCM-SHA384",
    "TLS_CHACHA20_POLY1305_SHA256": "TLS13-CHACHA20-POLY1305-SHA256",
    "TLS_AES_128_GCM_SHA256": "TLS13-AES128-GCM-SHA256",
}

_MODERN = (
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256")
_INTERMEDIATE = (
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:"
    "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES256-SHA384:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384:"
    "ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:DHE-RSA-AES128-SHA256:DHE-RSA-AES128-SHA:"
    "DHE-RSA-AES256-SHA256:DHE-RSA-AES256-SHA:ECDHE-ECDSA-DES-CBC3-SHA:ECDHE-RSA-DES-CBC3-SHA:"
    "EDH-RSA-DES-CBC3-SHA:AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES256-SHA256:AES128-SHA:"
    "AES256-SHA:DES-CBC3-SHA")
_OLD = (
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "DHE-RSA-AES128-GCM-SHA256:kEDH+AESGCM:ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256:"
    "ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES256-SHA384:"
    "ECDHE-RSA-AES256-SHA:ECDHE-ECDSA-AES256-SHA:DHE-RSA-AES128-SHA256:DHE-RSA-AES128-SHA:"
    "DHE-RSA-AES256-SHA256:DHE-RSA-AES256-SHA:ECDHE-RSA-DES-CBC3-SHA:ECDHE-ECDSA-DES-CBC3-SHA:"
    "EDH-RSA-DES-CBC3-SHA:AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES256-SHA256:AES128-SHA:"
    "AES256-SHA:AES:DES-CBC3-SHA:HIGH")
NAMED = {"modern": _MODERN, "intermediate": _INTERMEDIATE, "old": _OLD}
"""The lists of OpenShift's router, without words for suites that no BIG-IP has."""

_WITHOUT_SUITES = (
    "aNULL eNULL NULL EXPORT EXP DES RC4 RC2 MD5 PSK kPSK aPSK RSAPSK SRP KRB5 kKRB5 DSS aDSS aDH aECDH ADH "
    "AECDH IDEA SEED CAMELLIA CAMELLIA128 CAMELLIA256 ARIA LOW EDH-DSS-DES-CBC3-SHA KRB5-DES-CBC3-SHA kDH "
    "kECDH ECDH DH AESCCM GOST SSLv2 COMPLEMENTOFDEFAULT")
"""Words of OpenSSL for suites that are not in F5_NAMES."""


def _begins(*beginnings: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(beginnings)


def _contains(*words: str) -> Callable[[str], bool]:
    return lambda name: any(word in name for word in words)


_ECDHE, _DHE, _3DES = _begins("ECDHE-"), _begins("DHE-"), _contains("DES-CBC3")
_RSA_EXCHANGE = _begins("AES", "DES")
_GROUPS: Mapping[str, Callable[[str], bool]] = {
    "ALL": lambda name: True, "DEFAULT": lambda name: not _3DES(name), "HIGH": lambda name: not _3DES(name),
    "MEDIUM": _3DES, "3DES": _3DES,
    **dict.fromkeys(("ECDHE", "EECDH", "kECDHE", "kEECDH"), _ECDHE),
    **dict.fromkeys(("DHE", "EDH", "kDHE", "kEDH"), _DHE),
    **dict.fromkeys(("RSA", "kRSA"), _RSA_EXCHANGE),
    "aRSA": lambda name: "ECDSA" not in name, **dict.fromkeys(("ECDSA", "aECDSA"), _contains("ECDSA")),
    "AES": _contains("AES"), "AES128": _contains("AES128"), "AES256": _contains("AES256"),
    "AESGCM": _contains("GCM"), "CHACHA20": _contains("CHACHA20"),
    **dict.fromkeys(("SHA", "SHA1"), lambda name: name.endswith("-SHA")),
    "SHA256": lambda name: name.endswith("-SHA256") and "GCM" not in name,
    "SHA384": lambda name: name.endswith("-SHA384") and "GCM" not in name,
    "TLSv1.2": _contains("GCM", "CHACHA20", "SHA256", "SHA384"),
}
"""Words of OpenSSL for several suites."""
_SYNONYMS = {"EDH-RSA-DES-CBC3-SHA": "DHE-RSA-DES-CBC3-SHA"}


def parse(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the suites of a named list or of an OpenSSL list, and the unknown words.

    Raises: ValueError: no suite is left, or suites should be left out that are not known.
    """
    suites: list[str] = []
    killed: set[str] = set()
    unknown: list[str] = []
    for word in re.split(r"[:,\s]+", NAMED.get(text, text)):
        sign, name = (word[0], word[1:]) if word[:1] in ("!", "-", "+") else ("", word)
        matching = _matching(name)
        if not name or matching is None:
            if sign in ("!", "-") and name:
                raise ValueError(f"{word!r}: it is not known which cipher suites that leaves out")
            unknown += [word] if word else []
        elif sign == "+":
            suites = [suite for suite in suites if suite not in matching] + [
                suite for suite in suites if suite in matching]
        elif sign:
            suites = [suite for suite in suites if suite not in matching]
            killed |= set(matching) if sign == "!" else set()
        else:
            suites += [suite for suite in matching if suite not in killed and suite not in suites]
    if not suites:
        raise ValueError(f"{text!r} leaves no cipher suite that a BIG-IP has")
    return tuple(suites), tuple(unknown)


def _matching(word: str) -> list[str] | None:
    """Return the suites for which a word stands; None if it is unknown."""
    if (single := _SYNONYMS.get(word, word)) in F5_NAMES:
        return [single]
    tests: list[Callable[[str], bool]] = []
    for group in word.split("+"):
        if group in _GROUPS:
            tests.append(_GROUPS[group])
        elif group in _WITHOUT_SUITES.split():
            return []
        else:
            return None
    return [suite for suite in F5_NAMES if all(test(suite) for test in tests)]


def parse_tls13(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the suites of TLS 1.3 in a list, and the words that are unknown.

    Raises: ValueError: no suite is left.
    """
    words = [word for word in re.split(r"[:,\s]+", text) if word]
    suites = tuple(dict.fromkeys(word for word in words if word in TLS13))
    if not suites:
        raise ValueError(f"{text!r} leaves no cipher suite of TLS 1.3 that a BIG-IP has")
    return suites, tuple(word for word in words if word not in TLS13)


def f5_string(suites: Iterable[str], tls13: Iterable[str], version: tuple[int, ...]) -> str:
    """Return a BIG-IP's list of suites without those that its version does not know.

    If it knows none of them, all are in the list: the device refuses it, instead of serving others.
    """
    suites = tuple(suites)
    known = [suite for suite in suites if version >= tmos.TLS13_SINCE or "CHACHA20" not in suite] or suites
    names = [F5_NAMES[suite] or suite for suite in known]
    names += [TLS13[suite] for suite in tls13] if version >= tmos.TLS13_SINCE else []
    return ":".join(names)

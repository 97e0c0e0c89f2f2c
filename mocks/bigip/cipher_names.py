"""Names of single cipher suites that a BIG-IP has, and OpenSSL's for the same.

Source: what `tmm --clientciphers ALL` prints in documents of F5 (K13163, K10251520): the suites of ECDHE with
RSA, CBC and SHA-1 have CBC in their names, those of ECDSA have not; a suite of TLS 1.3 begins with TLS13.
"""

from __future__ import annotations

from mocks.bigip.versions import Version

_SAME = (
    "ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-SHA256 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-SHA384 "
    "ECDHE-RSA-DES-CBC3-SHA ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES128-SHA ECDHE-ECDSA-AES128-SHA256 "
    "ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-ECDSA-AES256-SHA ECDHE-ECDSA-AES256-SHA384 ECDHE-ECDSA-DES-CBC3-SHA "
    "AES128-GCM-SHA256 AES128-SHA AES128-SHA256 AES256-GCM-SHA384 AES256-SHA AES256-SHA256 DES-CBC3-SHA "
    "DHE-RSA-AES128-GCM-SHA256 DHE-RSA-AES128-SHA DHE-RSA-AES128-SHA256 DHE-RSA-AES256-GCM-SHA384 "
    "DHE-RSA-AES256-SHA DHE-RSA-AES256-SHA256 DHE-RSA-DES-CBC3-SHA")
_SINCE_14 = {
    "ECDHE-RSA-CHACHA20-POLY1305-SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-CHACHA20-POLY1305-SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS13-AES128-GCM-SHA256": "TLS_AES_128_GCM_SHA256",
    "TLS13-AES256-GCM-SHA384": "TLS_AES_256_GCM_SHA384",
    "TLS13-CHACHA20-POLY1305-SHA256": "TLS_CHACHA20_POLY1305_SHA256",
}
OPENSSL = {
    **{name: name for name in _SAME.split()},
    "ECDHE-RSA-AES128-CBC-SHA": "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES256-CBC-SHA": "ECDHE-RSA-AES256-SHA",
    **_SINCE_14,
}
"""Name of a BIG-IP to OpenSSL's."""


def unknown(text: str, version: Version) -> str:
    """The first word that is meant as a single suite and is none; "" if there is none. Words for groups
    of suites pass as they are."""
    for word in text.split(":"):
        single = "-" in word and "+" not in word and not word.startswith(("!", "-", "@"))
        if single and (word not in OPENSSL or (word in _SINCE_14 and version < (14,))):
            return word
    return ""

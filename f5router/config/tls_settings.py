"""Versions and cipher suites of TLS towards clients, of the settings.

Source: openshift/router, images/router/haproxy/conf/haproxy-config.template.
"""

from collections.abc import Callable
from dataclasses import replace

from f5router.config.reader import Reader
from f5router.model import cipher_suites
from f5router.model.client_tls import VERSIONS, TLSFiles, TLSSettings

CIPHERS, CIPHERSUITES = "ciphers", "ciphersuites"
MINIMUM, MAXIMUM = "ssl-min-version", "ssl-max-version"
LOWEST = "1.2"
"""Oldest version if only the newest is set, as in OpenShift's router."""

Parse = Callable[[str], tuple[tuple[str, ...], tuple[str, ...]]]


def load(reader: Reader) -> TLSSettings:
    """Return the settings of TLS towards clients."""
    minimum, maximum = reader.value(MINIMUM), reader.value(MAXIMUM)
    if minimum or maximum:
        minimum, maximum = minimum or min(LOWEST, maximum), maximum or "1.3"
        order = list(VERSIONS)
        if order.index(minimum) > order.index(maximum):
            reader.problem("the oldest version is newer than the newest", MINIMUM, MAXIMUM)
    ciphers = _suites(reader, CIPHERS, cipher_suites.parse)
    ciphers_13 = _suites(reader, CIPHERSUITES, cipher_suites.parse_tls13)
    if ciphers_13 and not ciphers:
        reader.warn("not used: the cipher suites of a profile are one list, which is set with ROUTER_CIPHERS",
                    CIPHERSUITES)
    certificates, expression = reader.value("mutual-tls-auth"), reader.value("mutual-tls-auth-filter")
    if certificates == "none":
        for name in ("mutual-tls-auth-ca", "mutual-tls-auth-crl", "mutual-tls-auth-filter"):
            if reader.text(name):
                reader.warn("not used: clients are not asked for certificates", name)
    elif not reader.text("mutual-tls-auth-ca"):
        reader.warn("it is not set: certificates of every public CA are accepted", "mutual-tls-auth-ca")
    all_13 = tuple(cipher_suites.TLS13)
    settings = TLSSettings(ciphers, (ciphers_13 or all_13) if ciphers else (), minimum, maximum)
    if certificates == "none":
        return settings
    return replace(settings, client_certificates=certificates,
                   client_filter=expression or "")


def strict_sni(reader: Reader, files: TLSFiles) -> bool:
    """Return whether clients are refused whose server name no certificate has."""
    strict = bool(reader.value("strict-sni"))
    if strict and files.default_certificate is None:
        reader.warn("not used without a default certificate of the router, such as DEFAULT_CERTIFICATE_PATH: "
                    "the names in the virtual server's own certificate are unknown", "strict-sni")
    return strict


def _suites(reader: Reader, name: str, parse: Parse) -> tuple[str, ...]:
    """Return the suites of a list; words that stand for none are left out with a warning."""
    text = reader.text(name)
    if not text:
        return ()
    try:
        suites, unknown = parse(text)
    except ValueError as exc:
        reader.problem(str(exc), name)
        return ()
    if unknown:
        reader.warn(f"left out, the BIG-IP has no cipher suite of this name: {', '.join(unknown)}", name)
    return suites

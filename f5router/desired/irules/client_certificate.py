"""Text of openshift_client_certificate_irule."""

import base64
from importlib import resources

from f5router.model import names

_TLV = """binary scan $f5r_der @${f5r_at}cc f5r_tag f5r_len
    set f5r_tag [expr { $f5r_tag & 0xff }]
    set f5r_len [expr { $f5r_len & 0xff }]
    set f5r_body [expr { $f5r_at + 2 }]
    if { $f5r_len > 127 } {
        set f5r_wide [expr { $f5r_len - 128 }]
        if { $f5r_wide < 1 || $f5r_wide > 3 } {
            error "length"
        }
        binary scan $f5r_der @${f5r_body}H[expr { 2 * $f5r_wide }] f5r_hex
        scan $f5r_hex %x f5r_len
        incr f5r_body $f5r_wide
    }
    set f5r_end [expr { $f5r_body + $f5r_len }]
    if { $f5r_at + 2 > $f5r_size || $f5r_end > $f5r_size } {
        error "end"
    }"""
"""Commands that read tag, length, and where the value at f5r_at begins and ends."""

_OIDS = {
    "550403": "CN", "550404": "SN", "550405": "serialNumber", "550406": "C", "550407": "L", "550408": "ST",
    "550409": "street", "55040a": "O", "55040b": "OU", "55040c": "title", "55040d": "description",
    "55040f": "businessCategory", "550411": "postalCode", "550429": "name", "55042a": "GN",
    "55042b": "initials", "55042c": "generationQualifier", "55042e": "dnQualifier", "550441": "pseudonym",
    "550461": "organizationIdentifier", "2a864886f70d010901": "emailAddress",
    "0992268993f22c640101": "UID", "0992268993f22c640119": "DC",
}
"""Object identifiers in DER to OpenSSL's short names; others are written in numbers, as HAProxy does.
Sources: openssl, crypto/objects/objects.txt; HAProxy, src/ssl_utils.c: ssl_sock_get_dn_oneline."""


def text(*, required: bool, expression: str = "") -> str:
    """Return the text of openshift_client_certificate_irule, for the HTTPS virtual server.

    A profile with peerCertMode `require` refuses a client in the handshake, so the iRule matters for profiles
    that do not ask yet, or that a device refused to change, and for `request`, which lets bad certificates
    in. A request is rejected unless the handshake of its connection has found a certificate or, if that is
    optional, none. Sources: clouddocs, SSL::cert (in CLIENTSSL_HANDSHAKE; DER, as examples with b64encode
    show), SSL::verify_result (0 is a good one), HTTP::respond. Inferred: that the event comes, and SSL::cert
    has the certificate, for every connection if the profile says `authenticate always`.

    Args:
        required: clients without a certificate are rejected.
        expression: regular expression for the subject, by Tcl's rules; "" for any subject. It stands in the
            text in base64.
    """
    lines = resources.files("f5router.desired.irules").joinpath(f"{names.CLIENT_CERTIFICATE_IRULE}.tcl")
    switch = "\n".join(f"{oid} {{ set f5r_oid {name} }}" for oid, name in _OIDS.items())
    pattern = base64.b64encode(expression.encode()).decode()
    fits = f'[regexp -- [b64decode "{pattern}"] $f5r_subject]' if expression else "1"
    replacements = {"@TLV@": _TLV, "@OIDS@": switch, "@FITS@": fits,
                    "@FILTERED@": str(int(bool(expression))), "@REQUIRED@": str(int(required))}
    script = lines.read_text(encoding="ascii")
    for mark, commands in replacements.items():
        script = script.replace(mark, commands)
    return script.strip()

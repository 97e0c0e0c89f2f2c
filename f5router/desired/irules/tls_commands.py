"""Commands of iRules on the way to TLS: client certificates, strict SNI, the PROXY protocol.

A client that asks for a server name without a certificate gets the alert of HAProxy's strict-sni: fatal,
unrecognized_name. It goes out in clear text, as the TLS of the BIG-IP has not begun: TCP::respond writes to
the peer. Nothing is released to the SSL profile, so that no certificate is shown. A connection without SNI
passes: OpenShift's router has no strict-sni for it. Sources: HAProxy, configuration manual, strict-sni, and
src/ssl_sock.c (SSL_AD_UNRECOGNIZED_NAME); RFC 6066 3; RFC 8446 5.1 and 6; openshift/router,
haproxy-config.template (fe_sni, fe_no_sni); clouddocs, TCP::respond and TCP::close (both valid in
CLIENT_DATA).

A load balancer names its clients with the PROXY protocol. No command reads the payload again after a part of
it was replaced: the header stays in front of what was collected until the connection is decided, and is
removed in the event that releases the rest. That this works is documented (tmsh reference, ltm rule command
TCP collect: release forwards "collected or modified payload data"; DevCentral CodeShare, "Proxy Protocol
Receiver"); what a later iRule or event sees in between is not.
A header of version 2 may have 4,096 bytes behind its first 16; HAProxy takes what fits into its buffer.
Sources: HAProxy, doc/proxy-protocol.txt; HAProxy, src/connection.c, conn_recv_proxy (UNKNOWN and LOCAL
keep the addresses of the connection; the ports are those of the header; other protocols are refused).
"""

import base64
from importlib import resources

from f5router.model import names, sni_records

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


def client_certificate_irule(*, required: bool, expression: str = "") -> str:
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


_GROUP = f"@FOLDER@/{names.SERVER_NAME_GROUP}"

LOOK_UP = f"""            # A name without a certificate is refused, unless its TLS is passed through. The
            # record {names.STRICT} is there when those of all names are.
            if {{ $f5r_name ne "" && [class match -value {names.STRICT} equals {_GROUP}] ne "" }} {{
                set f5r_state "refuse"
                if {{ [regexp {{^[A-Za-z0-9_][A-Za-z0-9_.-]*$}} $f5r_name] }} {{
                    set f5r_known [string tolower $f5r_name]
                    if {{ [string index $f5r_known end] eq "." }} {{
                        set f5r_known [string range $f5r_known 0 end-1]
                    }}
                    set f5r_at [string first "." $f5r_known]
                    if {{ [class match -value $f5r_known equals {_GROUP}] ne "" }} {{
                        set f5r_state "release"
                    }} elseif {{ $f5r_at > 0 }} {{
                        set f5r_known [string range $f5r_known $f5r_at end]
                        if {{ [class match -value $f5r_known equals {_GROUP}] ne "" }} {{
                            set f5r_state "release"
                        }}
                    }}
                }}
            }}

"""
REFUSE = """    } elseif { @UNPASSED@ && $f5r_state eq "refuse" } {
        set f5r_need 0
        # Record of an alert: fatal, unrecognized_name.
        if { [catch {
            TCP::respond [binary format c7 { 21 3 1 0 2 2 112 }]
            TCP::close
        }] } {
            reject
        }
"""

_PASSED = f"@FOLDER@/{names.PASSTHROUGH_GROUP}"

ANY_DEPTH = f"""                # Wildcards of any depth: each domain behind two dots, the longest one first.
                for {{ set f5r_i 0 }} {{ $f5r_i < 128 }} {{ incr f5r_i }} {{
                    if {{ $f5r_pool ne "" || $f5r_at < 0 }} {{
                        break
                    }}
                    if {{ $f5r_i > 0 }} {{
                        set f5r_name [string range $f5r_name $f5r_at end]
                    }}
                    set f5r_pool [class match -value ".$f5r_name" equals {_PASSED}]
                    if {{ $f5r_pool eq "" }} {{
                        set f5r_at [string first "." $f5r_name 1]
                    }} else {{
                        set f5r_name ".$f5r_name"
                    }}
                }}
                if {{ $f5r_pool eq "" }} {{
                    set f5r_pool [class match -value {sni_records.EVERY} equals {_PASSED}]
                }}
"""
"""Commands that look for a wildcard of any depth; f5r_name is the domain behind a dot. A Host has at most 127
labels."""

EVERY = f"""            # The pool of clients without a name, and of names without a record.
            set f5r_pool [class match -value {sni_records.EVERY} equals {_PASSED}]

"""

ENDED = """            # TLS of a name whose record begins so ends here, and nothing looks for requests in it.
            if { [string range $f5r_pool 0 9] eq "terminate/" } {
                set f5r_pool [string range $f5r_pool 9 end]
                set f5r_ended 1
            }
"""
"""Commands that read a record which begins with names.ENDED."""

NEVER = """        # Never end TLS here that the Route wants ended in the pod.
        if { [catch {
            pool $f5r_pool
            SSL::disable
        }] } {
"""
NEVER_OR_ENDED = """        # Never end TLS here that the Route wants ended in the pod.
        if { [catch {
            pool $f5r_pool
            if { [info exists f5r_ended] } {
                HTTP::disable
            } else {
                SSL::disable
            }
        }] } {
"""
"""Commands that lead a connection to its pool, without and with records that begin with names.ENDED."""

STRIP = """binary scan $f5r_data @${f5r_skip}a* f5r_data"""
"""Command that removes the header from a copy of the payload."""

REMOVE = """if { $f5r_state ne "collect" && [catch { TCP::payload replace 0 $f5r_skip "" }] } {
        set f5r_need 0
        reject
        return
    }"""
"""Commands that remove the header from the payload before it is released."""

CHECK = """if { ![info exists f5router_ends] } {
        # Whose client this is was not read.
        set f5router_route 0
        reject
        return
    }"""
"""Commands that end a request on a connection without a header, as one from before it was expected."""


def lead(text: str, *, ended: bool) -> str:
    """Fill in the commands that decide about a connection. Args: ended: True if some end TLS here."""
    text = text.replace("@NEVER@\n", NEVER_OR_ENDED if ended else NEVER)
    return text.replace("@UNPASSED@", '($f5r_pool eq "" || [info exists f5r_ended])' if ended
                        else '$f5r_pool eq ""')


def fill(text: str, *, read: str, proxied: bool) -> str:
    """Return the text of an iRule with these commands, or without them.

    Args:
        read: proxy_protocol.tcl, the commands that read the header once, into f5router_ends: addresses and
            ports of client and server. They leave the number of its bytes in f5r_skip, and in f5r_have how
            many are behind it.
        proxied: True if connections begin with the header.
    """
    parts = {"@PROXY_READ@": read, "@PROXY_STRIP@": STRIP, "@PROXY_REMOVE@": REMOVE, "@PROXY_CHECK@": CHECK,
             "@PROXY_START@": "set f5r_skip 0"}
    lines = []
    for line in text.splitlines():
        mark = line.strip()
        if mark not in parts:
            lines.append(line)
        elif proxied:
            lines.append(line.replace(mark, parts[mark]))
    return "\n".join(lines)

"""Commands of openshift_passthrough_irule that refuse a server name without a certificate.

The client gets the alert of HAProxy's strict-sni: fatal, unrecognized_name. It goes out in clear text, as the
TLS of the BIG-IP has not begun: TCP::respond writes to the peer. Nothing is released to the SSL profile, so
that no certificate is shown. A connection without SNI passes: OpenShift's router has no strict-sni for it.
Sources: HAProxy, configuration manual, strict-sni, and src/ssl_sock.c (SSL_AD_UNRECOGNIZED_NAME); RFC 6066 3;
RFC 8446 5.1 and 6; openshift/router, haproxy-config.template (fe_sni, fe_no_sni); clouddocs, TCP::respond and
TCP::close (both valid in CLIENT_DATA).
"""

from f5router.model import names

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
REFUSE = """    } elseif { $f5r_pool eq "" && $f5r_state eq "refuse" } {
        set f5r_need 0
        # Record of an alert: fatal, unrecognized_name.
        if { [catch {
            TCP::respond [binary format c7 { 21 3 1 0 2 2 112 }]
            TCP::close
        }] } {
            reject
        }
"""

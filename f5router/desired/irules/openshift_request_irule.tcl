# Managed by f5router: changes made here are overwritten.
#
# BIG-IP balances connections, not requests: without a OneConnect profile a later request of a client's
# connection stays with the server of the first one, whatever pool is chosen for it. So the server side
# is detached, and the pool named again, when a request is for another pool than the one before.
#
# A policy acts before an iRule, for every request. Its Rules tell their pool in f5router_pool, the last
# one of all that no other matched in f5router_unmatched; of Rules that tell nothing no pool is known.
# Rules of wildcard Routes match every name that ends in their domain. They tell it in
# f5router_wildcard, and only names with exactly one label before it are theirs. Those that redirect do it
# by f5router_redirect: the answer is given here, to a name that was looked at.
#
# The record of a pool, or the default of the router where there is none, is how a client stays with its pod:
# "source" by its address, "off" not at all, "cookie/NAME/SAMESITE" by a session cookie, for which
# openshift_session_cookie_irule does the rest. A name that is left out is the router's, or a hash of the pool's name.
#
# Headers that vouch for a client are removed from every request, before other iRules act.

when CLIENT_ACCEPTED {
    # Nothing is chosen yet: the pool of the virtual server, if it has one.
    set f5r_default ""
    catch { set f5r_default [LB::server pool] }
}

when HTTP_REQUEST priority 1 {
    # A header that stands twice is listed twice. Many pods know neither case nor punctuation of a name.
    foreach f5r_name [HTTP::header names] {
        set f5r_header [string tolower [string trim $f5r_name]]
        if { $f5r_header eq "proxy" || [string match "x?ssl*" $f5r_header] } {
            regsub -all {[^a-z0-9]} $f5r_header "-" f5r_header
            if { [lsearch -exact { @HEADERS@ } $f5r_header] >= 0 } {
                HTTP::header remove $f5r_name
            }
        }
    }
}

when HTTP_REQUEST {
    @PROXY_CHECK@
    # Variables live as long as the connection.
    set f5r_want ""
    set f5r_suffix ""
    set f5router_cookie ""
    # Read by openshift_headers_irule: whether a Route takes the request.
    set f5router_route 0
    set f5r_secure [info exists f5router_https]
    if { [info exists f5router_insecure] } {
        # The Route serves the same cookie without TLS.
        unset f5router_insecure
        set f5r_secure 0
    }
    if { [info exists f5router_unmatched] } {
        unset f5router_unmatched
        set f5r_want "none"
    }
    if { [info exists f5router_pool] } {
        set f5r_want $f5router_pool
        set f5router_route 1
        unset f5router_pool
    }
    if { [info exists f5router_wildcard] } {
        set f5r_suffix $f5router_wildcard
        unset f5router_wildcard
    }
@RULE_STAYS@

    set f5r_redirect 0
    if { [info exists f5router_redirect] } {
        unset f5router_redirect
        set f5r_redirect 1
    }

    if { $f5r_suffix ne "" } {
        # One label, the domain, perhaps a dot and a port; no other character, which a browser could take
        # for the end of the name.
        set f5r_label ""
        set f5r_domain ""
        set f5r_host [string tolower [HTTP::host]]
        regexp {^([a-z0-9_-]+)([.][a-z0-9.-]*[a-z0-9])[.]?(:[0-9]*)?$} $f5r_host f5r_host f5r_label f5r_domain
        # A target of a redirect is a path, printable: nothing that could go on with the name or end the header.
        set f5r_uri [HTTP::uri]
        if { [info exists f5router_refused] && $f5router_refused } {
            # openshift_client_certificate_irule has answered.
            set f5router_route 0
            return
        }
        if { $f5r_domain ne $f5r_suffix || ($f5r_redirect && ![regexp {^/[!-~]*$} $f5r_uri]) } {
            set f5router_route 0
            @REFUSE@
            return
        }
        if { $f5r_redirect } {
            if { [catch {
                HTTP::redirect "https://$f5r_label$f5r_domain$f5r_uri"
            }] } {
                reject
            }
            return
        }
    }

    if { [info exists f5r_before] && ($f5r_want eq "" || $f5r_want ne $f5r_before) } {
        # Rather no answer than that of the pool before.
        if { [catch {
            LB::detach
            if { $f5r_want eq "none" } {
                if { ![info exists f5r_default] || $f5r_default eq "" || [catch { pool $f5r_default }] } {
                    # Has no members: nobody can take the request.
                    set f5r_nowhere "@FOLDER@/openshift_nowhere"
                    pool $f5r_nowhere
                }
            } elseif { $f5r_want ne "" } {
                pool $f5r_want
            }
        }] } {
            log local0.err "f5router: no way from $f5r_before to $f5r_want; connection rejected"
            reject
        }
    }
    set f5r_before $f5r_want

    set f5r_stay "off"
    if { $f5r_want ne "" && $f5r_want ne "none" } {
        set f5r_stay [class match -value $f5r_want equals @FOLDER@/openshift_persistence_dg]
@AS_RULE_SAYS@
        if { $f5r_stay eq "" } {
            set f5r_stay "@PERSISTENCE@"
        }
    }
    set f5r_words [split $f5r_stay "/"]
    set f5r_stay [lindex $f5r_words 0]
    if { $f5r_stay eq "cookie" && ![info exists f5router_cookies] } {
        set f5r_stay "off"
    }
    set f5r_failed 0
    if { $f5r_stay eq "source" } {
        # The record of a client is for this pool alone.
        set f5r_failed [catch {
            @CLIENT@
            persist uie "$f5r_client $f5r_want" @SOURCE_S@
        }]
    } elseif { $f5r_stay eq "cookie" } {
        set f5r_name [lindex $f5r_words 1]
        if { $f5r_name eq "" } {
            set f5r_name "@COOKIE@"
        }
        if { $f5r_name eq "" } {
            if { ![info exists f5r_hashed] || $f5r_hashed ne $f5r_want } {
                set f5r_hashed $f5r_want
                binary scan [md5 $f5r_want] H* f5r_hash
            }
            set f5r_name $f5r_hash
        }
        set f5router_attributes ""
        if { $f5r_secure } {
            set f5r_site [lindex $f5r_words 2]
            if { $f5r_site eq "" } {
                set f5r_site "@SAME_SITE@"
            }
            set f5router_attributes "; Secure; SameSite=$f5r_site"
        }
        set f5r_failed [catch { persist cookie insert $f5r_name }]
        if { !$f5r_failed } {
            set f5router_cookie $f5r_name
        }
    }
    if { $f5r_stay ne "off" && !$f5r_failed } {
        set f5r_stays 1
    } elseif { [info exists f5r_stays] } {
        # It would go on for later requests.
        unset f5r_stays
        catch { persist none }
    }
    @WARN@
}

when LB_SELECTED priority 600 {
    # A connection from before openshift_limits_irule came does not run it. Rather no answer than one of a pod
    # to which only some clients get in; the client connects anew.
    if { ![info exists f5router_limits] } {
        set f5r_to [LB::server pool]
        if { $f5r_to ne "" && [string index $f5r_to 0] ne "/" } {
            set f5r_to "@FOLDER@/$f5r_to"
        }
        if { [string match "@FOLDER@/openshift_*__limited" $f5r_to] } {
            reject
        }
    }
}

when SERVER_CONNECTED priority 600 {
    # A connection runs the iRules that it began with: one from before openshift_reencrypt_irule came has no
    # TLS towards pods. Rather no answer than clear text to a pod that needs TLS; the client connects anew.
    if { ![info exists f5router_tls] && ![info exists f5router_passthrough] } {
        set f5r_to [LB::server pool]
        if { $f5r_to ne "" } {
            if { [string index $f5r_to 0] ne "/" } {
                set f5r_to "@FOLDER@/$f5r_to"
            }
            if { [class match $f5r_to equals @FOLDER@/ssl_reencrypt_serverssl_dg] } {
                reject
            }
        }
    }
}

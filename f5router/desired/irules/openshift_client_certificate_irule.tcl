# Managed by f5router: changes made here are overwritten.
#
# Client certificates (ROUTER_MUTUAL_TLS_AUTH). The client SSL profiles ask for them and verify them; here every
# request is checked again, so that none passes by a profile that does not ask yet, and pods get the name of the
# client in the headers of HAProxy's router.
#
# The certificate is read as it is, in DER (X.690, RFC 5280 4.1): the text that a BIG-IP makes of a name does not
# distinguish a comma in a value from one between values. Names are written in OpenSSL's form: /CN=a/O=b.

when CLIENTSSL_HANDSHAKE {
    # f5r_certificate becomes "none", "good" or "bad". An error in here makes a certificate a bad one.
    set f5r_certificate "none"
    # Read by openshift_headers_irule: a certificate that was verified.
    set f5router_der ""
    set f5r_subject ""
    set f5r_told {X-SSL-Client-Serial {} X-SSL-Client-Version {} X-SSL-Client-SHA1 {} X-SSL-Client-DN {} X-SSL-Client-CN {} X-SSL-Issuer {} X-SSL-Client-NotBefore {} X-SSL-Client-NotAfter {} X-SSL-Client-DER {}}
    set f5r_fits 0
    if { [catch {
        if { [SSL::cert count] > 0 } {
            set f5r_certificate "bad"
            if { [SSL::verify_result] == 0 } {
                set f5r_der [SSL::cert 0]
                set f5r_size [string length $f5r_der]
                binary scan [sha1 $f5r_der] H* f5r_sha1
                set f5r_at 0
                set f5r_version 1
                foreach f5r_step { outer inner version serial algorithm issuer validity subject } {
                    @TLV@
                    switch $f5r_step {
                        outer - inner {
                            set f5r_at $f5r_body
                        }
                        version {
                            # Left out in certificates of version 1.
                            if { $f5r_tag == 0xa0 } {
                                binary scan $f5r_der @[expr { $f5r_end - 1 }]c f5r_version
                                incr f5r_version
                                set f5r_at $f5r_end
                            }
                        }
                        serial {
                            binary scan $f5r_der @${f5r_body}H[expr { 2 * $f5r_len }] f5r_hex
                            regsub {^(00)+(?=..)} $f5r_hex "" f5r_hex
                            set f5r_serial [string toupper $f5r_hex]
                            set f5r_at $f5r_end
                        }
                        validity {
                            set f5r_last $f5r_end
                            set f5r_times {}
                            set f5r_at $f5r_body
                            while { $f5r_at < $f5r_last } {
                                @TLV@
                                binary scan $f5r_der @${f5r_body}a${f5r_len} f5r_time
                                if { $f5r_tag == 0x18 } {
                                    # GeneralizedTime has four digits of the year.
                                    set f5r_time [string range $f5r_time 2 end]
                                }
                                lappend f5r_times $f5r_time
                                set f5r_at $f5r_end
                            }
                        }
                        issuer - subject {
                            set f5r_last $f5r_end
                            set f5r_name ""
                            set f5r_cn ""
                            set f5r_at $f5r_body
                            while { $f5r_at < $f5r_last } {
                                @TLV@
                                if { $f5r_tag == 0x30 || $f5r_tag == 0x31 } {
                                    # A SET of SEQUENCEs of an OID and a value.
                                    set f5r_at $f5r_body
                                    continue
                                }
                                set f5r_at $f5r_end
                                if { $f5r_tag == 0x06 } {
                                    binary scan $f5r_der @${f5r_body}H[expr { 2 * $f5r_len }] f5r_hex
                                    switch $f5r_hex {
                                        @OIDS@
                                        default {
                                            set f5r_oid ""
                                            set f5r_arc 0
                                            foreach f5r_byte [regexp -all -inline .. $f5r_hex] {
                                                scan $f5r_byte %x f5r_byte
                                                set f5r_arc [expr { ($f5r_arc & 0xffffff) * 128 + ($f5r_byte & 0x7f) }]
                                                if { $f5r_byte < 128 } {
                                                    if { $f5r_oid eq "" } {
                                                        set f5r_oid [expr { $f5r_arc < 80 ? $f5r_arc / 40 : 2 }]
                                                        set f5r_arc [expr { $f5r_arc - 40 * $f5r_oid }]
                                                    }
                                                    append f5r_oid ".$f5r_arc"
                                                    set f5r_arc 0
                                                }
                                            }
                                        }
                                    }
                                    continue
                                }
                                set f5r_value ""
                                binary scan $f5r_der @${f5r_body}a${f5r_len} f5r_value
                                append f5r_name "/$f5r_oid=$f5r_value"
                                if { $f5r_oid eq "CN" && $f5r_cn eq "" } {
                                    set f5r_cn $f5r_value
                                }
                            }
                            set f5r_$f5r_step $f5r_name
                        }
                        default {
                            set f5r_at $f5r_end
                        }
                    }
                }
                set f5r_fits @FITS@
                set f5r_told [list X-SSL-Client-Serial $f5r_serial X-SSL-Client-Version $f5r_version]
                lappend f5r_told X-SSL-Client-SHA1 [string toupper $f5r_sha1] X-SSL-Client-DN $f5r_subject
                lappend f5r_told X-SSL-Client-CN $f5r_cn X-SSL-Issuer $f5r_issuer
                lappend f5r_told X-SSL-Client-NotBefore [lindex $f5r_times 0] X-SSL-Client-NotAfter [lindex $f5r_times 1]
                lappend f5r_told X-SSL-Client-DER [b64encode $f5r_der]
                set f5router_der $f5r_der
                set f5r_certificate "good"
            }
        }
    } f5r_error] } {
        set f5r_certificate "bad"
        log local0.err "f5router: client certificate: $f5r_error"
    }
}

when HTTP_REQUEST priority 2 {
    if { ![info exists f5r_certificate] || $f5r_certificate eq "bad" || ($f5r_certificate eq "none" && @REQUIRED@) } {
        reject
        return
    }
    # Read by openshift_request_irule, which must not answer once more.
    set f5router_refused 0
    if { @FILTERED@ && !$f5r_fits } {
        set f5router_refused 1
        # Fails where a policy has answered, with a redirect.
        if { [catch {
            HTTP::respond 403 -version auto content "<html><body><h1>403 Forbidden</h1>Request forbidden by administrative rules.</body></html>" noserver Content-Type "text/html" Cache-Control "no-cache" Connection "close"
        }] } {
            reject
        }
        return
    }
    # Fails where a policy has answered; a pod takes a request without them for one without a certificate.
    catch {
        HTTP::header insert X-SSL 1
        HTTP::header insert X-SSL-Client-Verify 0
        foreach { f5r_name f5r_value } $f5r_told {
            # Whoever writes the names of a certificate must not write headers: CR becomes %0D.
            if { [regexp [format {[%c-%c%c-%c%c]} 0 8 10 31 127] $f5r_value] } {
                set f5r_map [list [format %c 127] %7F]
                for { set f5r_i 0 } { $f5r_i < 32 } { incr f5r_i } {
                    if { $f5r_i != 9 } {
                        lappend f5r_map [format %c $f5r_i] [format %%%02X $f5r_i]
                    }
                }
                set f5r_value [string map $f5r_map $f5r_value]
            }
            HTTP::header insert $f5r_name $f5r_value
        }
    }
}

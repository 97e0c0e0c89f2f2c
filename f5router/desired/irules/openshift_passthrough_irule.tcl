# Managed by f5router: changes made here are overwritten.
#
# A connection whose TLS SNI is a name in the data-group goes to the pool recorded there, with TLS
# untouched. A name that is not there is looked up by its domain, with a dot before it: the record of a
# wildcard Route. Any other connection is released as it was found, for the SSL profile to judge; so is
# a name whose record is no pool: TLS of that host ends here, whatever the wildcard says.
#
# A client stays with its pod if the name has "source" in the second data-group, or nothing there and that
# is the default of the router; "off" is the contrary.
#
# ClientHello: RFC 8446 4.1.2, records: 5.1, SNI: RFC 6066 3. binary scan reads signed numbers.

when CLIENT_ACCEPTED {
    # Bytes to have before another look is worth while; 0 when the connection is decided.
    set f5r_need 1
    # Read by openshift_request_irule: clients of this virtual server speak TLS.
    set f5router_https 1
    @PROXY_START@
    TCP::collect
}

when CLIENT_DATA {
    # Once decided, what comes in was collected by another iRule.
    if { ![info exists f5r_need] || $f5r_need == 0 } {
        return
    }
    set f5r_have [TCP::payload length]
    @PROXY_READ@
    if { $f5r_have < $f5r_need } {
        TCP::collect
        return
    }
    set f5r_state "collect"
    set f5r_pool ""
    set f5r_stay ""
    set f5r_data ""
    set f5r_hello ""

    # An error in here would reset the connection.
    if { [catch {
        set f5r_data [TCP::payload]
        @PROXY_STRIP@
        set f5r_at 0
        set f5r_size 0
        # Handshake bytes wanted: the header of the message, then all of it.
        set f5r_want 4

        # Gather the message from its records.
        for { set f5r_i 0 } { $f5r_i < 64 } { incr f5r_i } {
            set f5r_need [expr { $f5r_at + 5 }]
            if { $f5r_have > $f5r_at } {
                binary scan $f5r_data @${f5r_at}c f5r_type
                if { $f5r_type != 22 } {
                    set f5r_state "release"
                    break
                }
            }
            if { $f5r_have < $f5r_need } {
                break
            }
            binary scan $f5r_data @${f5r_at}cccS f5r_type f5r_major f5r_minor f5r_len
            set f5r_len [expr { $f5r_len & 0xffff }]
            if { $f5r_major != 3 || $f5r_len > 16389 } {
                set f5r_state "release"
                break
            }
            set f5r_at $f5r_need
            incr f5r_need $f5r_len
            # Real ones have a few KiB; stay well below a receive window of 64 KiB.
            if { $f5r_need > 32768 } {
                set f5r_state "release"
                break
            }
            if { $f5r_have < $f5r_need } {
                break
            }
            binary scan $f5r_data @${f5r_at}a${f5r_len} f5r_piece
            set f5r_hello [binary format a*a* $f5r_hello $f5r_piece]
            incr f5r_size $f5r_len
            set f5r_at $f5r_need

            if { $f5r_want == 4 && $f5r_size >= 4 } {
                binary scan $f5r_hello ccS f5r_type f5r_high f5r_low
                set f5r_want [expr { 4 + (($f5r_high & 0xff) << 16) + ($f5r_low & 0xffff) }]
                # A message without a body is no ClientHello either.
                if { $f5r_type != 1 || $f5r_want == 4 || $f5r_want > 32768 } {
                    set f5r_state "release"
                    break
                }
            }
            if { $f5r_want > 4 && $f5r_size >= $f5r_want } {
                set f5r_state "parse"
                break
            }
        }
        if { $f5r_i == 64 } {
            set f5r_state "release"
        }

        if { $f5r_state eq "parse" } {
            set f5r_state "release"
            set f5r_name ""
            # After header, version and random: session id, cipher suites, compression methods,
            # each with its length before it.
            set f5r_at 38
            foreach { f5r_format f5r_width f5r_mask f5r_most } {
                c 1 0xff 32   S 2 0xffff 0xffff   c 1 0xff 0xff
            } {
                if { $f5r_at + $f5r_width > $f5r_want } {
                    set f5r_at 65536
                    break
                }
                binary scan $f5r_hello @${f5r_at}${f5r_format} f5r_len
                set f5r_len [expr { $f5r_len & $f5r_mask }]
                if { $f5r_len > $f5r_most } {
                    set f5r_at 65536
                    break
                }
                incr f5r_at $f5r_width
                incr f5r_at $f5r_len
            }
            # Extensions, which old clients do not send, fill the rest.
            if { $f5r_at + 2 <= $f5r_want } {
                binary scan $f5r_hello @${f5r_at}S f5r_len
                incr f5r_at 2
                if { $f5r_at + ($f5r_len & 0xffff) != $f5r_want } {
                    set f5r_at 65536
                }
            }
            for { set f5r_i 0 } { $f5r_i < 128 && $f5r_at + 4 <= $f5r_want } { incr f5r_i } {
                binary scan $f5r_hello @${f5r_at}SS f5r_type f5r_len
                set f5r_len [expr { $f5r_len & 0xffff }]
                incr f5r_at 4
                if { $f5r_at + $f5r_len > $f5r_want } {
                    break
                }
                if { $f5r_type == 0 } {
                    # Length of the list, type of the first name: 0 is host_name, its length.
                    if { $f5r_len >= 5 } {
                        binary scan $f5r_hello @${f5r_at}ScS f5r_list f5r_type f5r_size
                        set f5r_list [expr { $f5r_list & 0xffff }]
                        set f5r_size [expr { $f5r_size & 0xffff }]
                        if { $f5r_type == 0 && $f5r_list == $f5r_len - 2 && $f5r_size <= $f5r_list - 3 } {
                            incr f5r_at 5
                            binary scan $f5r_hello @${f5r_at}a${f5r_size} f5r_name
                        }
                    }
                    break
                }
                incr f5r_at $f5r_len
            }

@STRICT@
@EVERY@
            # Only what can be a host: class match would take a leading - for an option.
            if { [regexp {^[A-Za-z0-9_][A-Za-z0-9_.-]*$} $f5r_name] } {
                set f5r_name [string tolower $f5r_name]
                if { [string index $f5r_name end] eq "." } {
                    set f5r_name [string range $f5r_name 0 end-1]
                }
                set f5r_pool [class match -value $f5r_name equals @FOLDER@/ssl_passthrough_servername_dg]
                set f5r_at [string first "." $f5r_name]
                if { $f5r_pool eq "" && $f5r_at > 0 } {
                    set f5r_name [string range $f5r_name $f5r_at end]
                    set f5r_pool [class match -value $f5r_name equals @FOLDER@/ssl_passthrough_servername_dg]
                }
@ANY_DEPTH@
                if { $f5r_pool eq "terminate" } {
                    set f5r_pool ""
                }
                if { $f5r_pool ne "" } {
                    set f5r_stay [class match -value $f5r_name equals @FOLDER@/openshift_persistence_dg]
                }
            }
@ENDED@
        }
    }] } {
        log local0.err "f5router: error while reading a ClientHello; connection left as it is"
        set f5r_state "release"
    }
    # Variables live as long as the connection.
    set f5r_data ""
    set f5r_hello ""
    set f5r_piece ""

    @PROXY_REMOVE@
    if { $f5r_state eq "collect" } {
        TCP::collect
@REFUSED@
    } elseif { $f5r_pool eq "" } {
        set f5r_need 0
        TCP::release
    } else {
        set f5r_need 0
        set f5router_passthrough 1
@NEVER@
            log local0.err "f5router: passthrough to $f5r_pool failed; connection rejected"
            reject
        } else {
            # These fail where there is no such profile, hence nothing to disable.
            catch { SSL::disable serverside }
            catch { HTTP::disable }
            if { $f5r_stay eq "" } {
                set f5r_stay "@SOURCE@"
            }
            # The record of a client is for this pool alone.
            set f5r_want $f5r_pool
            set f5r_failed [expr { $f5r_stay eq "source" && [catch {
                @CLIENT@
                persist uie "$f5r_client $f5r_want" @SOURCE_S@
            }] }]
            @WARN@
            TCP::release
        }
    }
}

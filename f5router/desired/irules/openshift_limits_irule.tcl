# Managed by f5router: changes made here are overwritten.
#
# Clients of a pool whose name ends in __limited or __rated. The record of the pool names the data-group of the
# addresses that get in, or "-"; behind it, with slashes between them, there may be three limits for each
# client, 0 for none: connections at a time, connections in 3 s, requests in 10 s. The connection that
# reaches a limit is rejected, and the request that exceeds one.
#
# Where the list of a pool in __limited is missing or fails, nobody gets in. Where counting fails, everybody does.
#
# Keys of the session table: for a rate, client and pool with the number of a window of the clock; the window
# before counts for the part of it that is not over yet. A subtable for each client and pool has a key for each
# connection, so that no connection is subtracted twice, and one that was lost expires.

when LB_SELECTED priority 100 {
    # Read by openshift_request_irule later in this event.
    set f5router_limits 1
    set f5r_pool [LB::server pool]
    if { $f5r_pool ne "" && [string index $f5r_pool 0] ne "/" } {
        set f5r_pool "@FOLDER@/$f5r_pool"
    }
    if { [info exists f5r_counted] && $f5r_counted ne $f5r_pool } {
        # The connection goes on with another Route.
        unset f5r_counted
        @RELEASE@
    }
    if { [string match "@FOLDER@/openshift_*__*ted" $f5r_pool] } {
        set f5r_listed [string match "*__limited" $f5r_pool]
        set f5r_allowed 0
        set f5r_record ""
        if { [catch {
            set f5r_record [class match -value $f5r_pool equals @FOLDER@/openshift_limits_dg]
            set f5r_list [lindex [split $f5r_record "/"] 0]
            if { $f5r_listed && $f5r_list ne "" } {
                @CLIENT@
                # Records are addresses without a route domain.
                set f5r_plain [lindex [split $f5r_client "%"] 0]
                if { [class match $f5r_plain equals @FOLDER@/$f5r_list] } {
                    set f5r_allowed 1
                } elseif { $f5r_plain ne $f5r_client } {
                    # The device may have added that of their partition.
                    if { [class match $f5r_client equals @FOLDER@/$f5r_list] } {
                        set f5r_allowed 1
                    }
                }
            }
        }] } {
            if { $f5r_listed } {
                # Once in ten minutes for each TMM: it may be so for every connection.
                set f5r_now [clock seconds]
                if { ![info exists static::f5router_unchecked]
                        || $f5r_now - $static::f5router_unchecked >= 600 } {
                    set static::f5router_unchecked $f5r_now
                    log local0.err "f5router: clients of $f5r_pool cannot be checked; connection rejected"
                }
            } else {
                @UNCOUNTED@
            }
        }
        if { $f5r_listed && !$f5r_allowed } {
            reject
            return
        }
        if { [regexp {^[^/]*/([0-9]+)/([0-9]+)/([0-9]+)$} $f5r_record f5r_all f5r_most f5r_fast f5r_often] } {
            set f5r_refused 0
            if { [catch {
                @CLIENT@
                if { ![info exists f5r_counted] } {
                    set f5r_counted $f5r_pool
                    if { $f5r_most > 0 } {
                        set f5r_seats "f5router connections $f5r_client $f5r_counted"
                        set f5r_seat "[IP::client_addr] [TCP::client_port] [virtual name]"
                        table set -subtable $f5r_seats $f5r_seat 1 indefinite @LEASE_S@
                        if { [table keys -subtable $f5r_seats -count] >= $f5r_most } {
                            set f5r_refused 1
                        }
                    }
                    if { $f5r_fast > 0 } {
                        set f5r_kind "connections"
                        set f5r_period 3
                        set f5r_limit $f5r_fast
                        @COUNT@
                    }
                }
                if { $f5r_often > 0 && ![info exists f5r_asked] } {
                    set f5r_kind "requests"
                    set f5r_period 10
                    set f5r_limit [expr { $f5r_often + 1 }]
                    @COUNT@
                }
            }] } {
                @UNCOUNTED@
            }
            set f5r_asked 1
            if { $f5r_refused } {
                @RELEASE@
                reject
            }
        }
    }
}

when HTTP_REQUEST_SEND {
    if { [info exists f5r_asked] } {
        # Counted when its pod was chosen.
        unset f5r_asked
    } elseif { [info exists f5r_counted] } {
        # A later request, which stays with the pod of the one before it.
        set f5r_refused 0
        if { [catch {
            if { [info exists f5r_seats] } {
                table set -subtable $f5r_seats $f5r_seat 1 indefinite @LEASE_S@
            }
            if { $f5r_often > 0 } {
                set f5r_kind "requests"
                set f5r_period 10
                set f5r_limit [expr { $f5r_often + 1 }]
                @COUNT@
            }
        }] } {
            @UNCOUNTED@
        }
        if { $f5r_refused } {
            @RELEASE@
            reject
        }
    }
}

when CLIENT_CLOSED {
    @RELEASE@
}

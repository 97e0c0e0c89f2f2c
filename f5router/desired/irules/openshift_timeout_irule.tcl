# Managed by f5router: changes made here are overwritten.
#
# Time-outs of Routes. Records of the data-group: a pool with two numbers of seconds and a slash between
# them, each 0 for that of the profiles. The first one is how long a response is waited for; the second one
# is how long a connection may be silent that carries no HTTP, because it is passed through or was upgraded.
#
# Each side of a connection has an idle time-out, and the shorter one ends both. A longer one than that of
# the profiles stays in force until a request for another pool, a shorter one until the response begins:
# it must not end a connection on which the client has not asked anything.

when CLIENT_ACCEPTED {
    catch { set f5r_idle [IP::idle_timeout] }
@TIMERS@
}

@CANCEL@
when SERVER_CONNECTED {
    # Whatever an earlier server side had does not count for this one.
    catch { set f5r_server_idle [IP::idle_timeout] }
    if { [info exists f5router_passthrough] } {
        set f5r_timed [LB::server pool]
        if { $f5r_timed ne "" && [string index $f5r_timed 0] ne "/" } {
            set f5r_timed "@FOLDER@/$f5r_timed"
        }
        set f5r_times [class match -value $f5r_timed equals @FOLDER@/openshift_timeouts_dg]
        set f5r_silent [lindex [split $f5r_times "/"] 1]
@PASSED@
        if { $f5r_silent ne "" && $f5r_silent > 0 } {
            catch {
                IP::idle_timeout $f5r_silent
                clientside { IP::idle_timeout $f5r_silent }
            }
        }
    }
}

when HTTP_REQUEST_SEND {
    set f5r_wait 0
    set f5r_silent 0
    set f5r_timed [LB::server pool]
    if { $f5r_timed ne "" } {
        if { [string index $f5r_timed 0] ne "/" } {
            set f5r_timed "@FOLDER@/$f5r_timed"
        }
        set f5r_times [class match -value $f5r_timed equals @FOLDER@/openshift_timeouts_dg]
        if { $f5r_times ne "" } {
            set f5r_times [split $f5r_times "/"]
            set f5r_wait [lindex $f5r_times 0]
            set f5r_silent [lindex $f5r_times 1]
        }
    }
    # Without the time-outs of the profiles nothing could be put back.
    catch {
        if { ![info exists f5r_server_idle] } {
            set f5r_server_idle [IP::idle_timeout]
        }
        if { ![info exists f5r_idle] } {
            set f5r_idle [clientside { IP::idle_timeout }]
        }
@DEFAULTS@
        if { $f5r_wait > 0 } {
            set f5r_timed_out 1
            IP::idle_timeout $f5r_wait
            if { $f5r_wait > $f5r_idle } {
                clientside { IP::idle_timeout $f5r_wait }
            } else {
                clientside { IP::idle_timeout $f5r_idle }
            }
        } elseif { [info exists f5r_timed_out] } {
            unset f5r_timed_out
            IP::idle_timeout $f5r_server_idle
            clientside { IP::idle_timeout $f5r_idle }
        }
    }
}

when HTTP_RESPONSE {
    catch {
        if { [HTTP::status] == 101 && $f5r_silent > 0 } {
            IP::idle_timeout $f5r_silent
            clientside { IP::idle_timeout $f5r_silent }
@PAUSE@
        } elseif { $f5r_wait > 0 && ([HTTP::status] == 101 || $f5r_wait < $f5r_server_idle) } {
            IP::idle_timeout $f5r_server_idle
            clientside { IP::idle_timeout $f5r_idle }
        }
    }
}

# Managed by f5router: changes made here are overwritten.
#
# A request that no Route matches, whose pool has no available member or whose pod cannot be
# connected to gets a page with status 503 instead of a reset. LB_FAILED is the one event in which
# nothing was answered and nobody can answer. It comes last; an iRule that has dealt with the failure
# in a way that cannot be seen, such as LB::reselect, sets f5router_answered in that event.

when SERVER_CONNECTED priority 1000 {
    # For later requests: LB::server may still give this address for one that goes nowhere.
    if { [LB::server pool] ne "" } {
        set f5r_earlier [LB::server addr]
    }
}

when LB_FAILED priority 1000 {
    if { [info exists f5router_answered] } {
        unset f5router_answered
    } elseif { ![info exists f5router_passthrough] } {
        set f5r_pool ""
        set f5r_address ""
        catch { set f5r_pool [LB::server pool] }
        catch { set f5r_address [LB::server addr] }

        # Ours is what went to a pool of ours or nowhere; other pools and nodes are of other makers.
        set f5r_ours 0
        if { $f5r_pool eq "" } {
            if { [lsearch -exact { "" 0.0.0.0 :: any any6 } $f5r_address] >= 0 } {
                set f5r_ours 1
            } elseif { [info exists f5r_earlier] && $f5r_address eq $f5r_earlier } {
                set f5r_ours 1
            }
        } else {
            if { [string index $f5r_pool 0] ne "/" } {
                set f5r_pool "@FOLDER@/$f5r_pool"
            }
            if { [string first "@FOLDER@/openshift_" $f5r_pool] == 0 } {
                set f5r_ours 1
            }
        }
        if { $f5r_ours } {
            # Fails where another iRule has answered, or where this is not HTTP. The connection is
            # closed, for a body of the request may still be on its way.
            catch {
                @RESPOND@
            }
        }
    }
}

# Managed by f5router: changes made here are overwritten.
#
# A request that no Route matches gets a page of its own. It went to no pool, or to openshift_nowhere; a
# request that went to a pool of a Route, or of other makers, is left to other iRules.
# f5r_before is what openshift_request_irule knows of the request: "none", or the pool that its Rule set.

when SERVER_CONNECTED priority 990 {
    # For later requests: LB::server may still give this address for one that goes nowhere.
    if { [LB::server pool] ne "" } {
        set f5r_earlier [LB::server addr]
    }
}

when LB_FAILED priority 990 {
    if { ![info exists f5router_answered] && ![info exists f5router_passthrough] } {
        set f5r_pool ""
        set f5r_address ""
        catch { set f5r_pool [LB::server pool] }
        catch { set f5r_address [LB::server addr] }
        set f5r_nobody 0
        if { $f5r_pool eq "@FOLDER@/openshift_nowhere" || $f5r_pool eq "openshift_nowhere" } {
            set f5r_nobody 1
        } elseif { $f5r_pool eq "" } {
            set f5r_wanted ""
            if { [info exists f5r_before] } {
                set f5r_wanted $f5r_before
            }
            if { [lsearch -exact { "" none @FOLDER@/openshift_nowhere } $f5r_wanted] >= 0 } {
                if { [lsearch -exact { "" 0.0.0.0 :: any any6 } $f5r_address] >= 0 } {
                    set f5r_nobody 1
                } elseif { [info exists f5r_earlier] && $f5r_address eq $f5r_earlier } {
                    set f5r_nobody 1
                }
            }
        }
        if { $f5r_nobody } {
            # Fails where another iRule has answered, or where this is not HTTP.
            if { ![catch {
                @RESPOND@
            }] } {
                set f5router_answered 1
            }
        }
    }
}

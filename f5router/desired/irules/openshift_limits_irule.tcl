# Managed by f5router: changes made here are overwritten.
#
# Clients of a pool whose name ends in __limited. The record of the pool names the data-group of the addresses
# that get in; all others are rejected before a pod is connected to. Where anything is missing or fails,
# nobody gets in.

when LB_SELECTED priority 100 {
    # Read by openshift_request_irule later in this event.
    set f5router_limits 1
    set f5r_pool [LB::server pool]
    if { $f5r_pool ne "" && [string index $f5r_pool 0] ne "/" } {
        set f5r_pool "@FOLDER@/$f5r_pool"
    }
    if { [string match "@FOLDER@/openshift_*__limited" $f5r_pool] } {
        set f5r_allowed 0
        if { [catch {
            set f5r_list [class match -value $f5r_pool equals @FOLDER@/openshift_limits_dg]
            if { $f5r_list ne "" } {
                set f5r_client [IP::client_addr]
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
            log local0.err "f5router: clients of $f5r_pool cannot be checked; connection rejected"
        }
        if { !$f5r_allowed } {
            reject
        }
    }
}

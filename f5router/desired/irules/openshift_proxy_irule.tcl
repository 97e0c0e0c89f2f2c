# Managed by f5router: changes made here are overwritten.
#
# A connection begins with a header of the PROXY protocol, version 1 or 2, by which a load balancer names its client.
# It is removed, and what it says counts in our other iRules. A connection without it is rejected.
#
# openshift_passthrough_irule does the same where clients speak TLS: what one iRule sees after another one has
# changed the payload is not documented.

when CLIENT_ACCEPTED {
    set f5r_need 1
    @PROXY_START@
    TCP::collect
}

when CLIENT_DATA {
    # Once decided, what comes in was collected by another iRule.
    if { ![info exists f5r_need] || $f5r_need == 0 } {
        return
    }
    set f5r_have [TCP::payload length]
    set f5r_state "release"
    @PROXY_READ@
    @PROXY_REMOVE@
    set f5r_need 0
    TCP::release
}

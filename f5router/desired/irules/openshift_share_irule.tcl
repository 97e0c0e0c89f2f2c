# Managed by f5router: changes made here are overwritten.
#
# Resets a share of the connections, in millionths: that of Services of a TCPRoute which cannot be used.

when CLIENT_ACCEPTED {
    if { rand() * 1000000 < @SHARE@ } {
        reject
    }
}

# Managed by f5router: changes made here are overwritten.
#
# Rules of wildcard Routes match every name that ends in their domain. They name the domain in
# f5router_wildcard, and only names with exactly one label before it are theirs. A policy acts before
# an iRule, for every request; variables live as long as the connection.

when HTTP_REQUEST {
    if { [info exists f5router_wildcard] } {
        set f5r_suffix $f5router_wildcard
        unset f5router_wildcard
        set f5r_host [string tolower [getfield [HTTP::host] ":" 1]]
        if { [string index $f5r_host end] eq "." } {
            set f5r_host [string range $f5r_host 0 end-1]
        }
        set f5r_at [string first "." $f5r_host]
        if { $f5r_at < 1 || [string range $f5r_host $f5r_at end] ne $f5r_suffix } {
            @REFUSE@
        }
    }
}

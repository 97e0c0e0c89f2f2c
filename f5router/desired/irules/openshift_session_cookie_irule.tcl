# Managed by f5router: changes made here are overwritten.
#
# Session cookies. openshift_request_irule makes the BIG-IP insert one, by its own cookie persistence: its name
# is in f5router_cookie, "" for none, and the attributes that TLS adds in f5router_attributes.
#
# Pods never see the cookie: it leaves the request when the pod is chosen. A client that has the right cookie
# is not sent another.

when CLIENT_ACCEPTED {
    # Read by openshift_request_irule: connections without this iRule have no cookies.
    set f5router_cookies 1
    set f5r_sent {}
}

when HTTP_REQUEST_RELEASE {
    set f5r_sent {}
    if { [info exists f5router_cookie] && $f5router_cookie ne "" } {
        catch {
            for { set f5r_i 0 } { $f5r_i < 32 && [HTTP::cookie exists $f5router_cookie] } { incr f5r_i } {
                lappend f5r_sent [HTTP::cookie value $f5router_cookie]
                HTTP::cookie remove $f5router_cookie
            }
        }
    }
}

when HTTP_RESPONSE_RELEASE priority 600 {
    if { [info exists f5router_cookie] && $f5router_cookie ne "" } {
        catch {
            if { [HTTP::cookie exists $f5router_cookie] } {
                # Only a value that the BIG-IP makes counts; the pod may use a cookie of this name, too.
                set f5r_value ""
                foreach f5r_header [HTTP::header values "Set-Cookie"] {
                    set f5r_pair [split [lindex [split $f5r_header ";"] 0] "="]
                    set f5r_found [string trim [lindex $f5r_pair 1]]
                    if { [string trim [lindex $f5r_pair 0]] eq $f5router_cookie && [regexp {@VALUE@} $f5r_found] } {
                        set f5r_value $f5r_found
                    }
                }
                for { set f5r_i 0 } { $f5r_i < 32 && [HTTP::cookie exists $f5router_cookie] } { incr f5r_i } {
                    HTTP::cookie remove $f5router_cookie
                }
                if { $f5r_value ne "" && $f5r_sent ne [list $f5r_value] } {
                    HTTP::header insert "Set-Cookie" "$f5router_cookie=$f5r_value; path=/; HttpOnly$f5router_attributes"
                    HTTP::header insert "Cache-Control" "private"
                }
            }
        }
    }
}

# Managed by f5router: changes made here are overwritten.
#
# Options of Routes that act on requests and responses. The Rule of a Route names their record in f5router_http,
# if there is one. A record: options with a slash between them, each of words with a dot between them. Texts are
# hexadecimal.
#
# hsts.TEXT: the header Strict-Transport-Security of a response, in place of the pod's.

when HTTP_REQUEST {
    # Variables live as long as the connection.
    set f5r_options ""
    if { [info exists f5router_http] } {
        set f5r_options [class match -value $f5router_http equals @FOLDER@/openshift_http_dg]
        unset f5router_http
    }
    set f5r_options [split $f5r_options "/"]
}

when HTTP_RESPONSE {
    if { [info exists f5r_options] } {
        foreach f5r_option $f5r_options {
            set f5r_words [split $f5r_option "."]
            if { [lindex $f5r_words 0] eq "hsts" } {
                set f5r_header "Strict-Transport-Security"
                set f5r_value [binary format H* [lindex $f5r_words 1]]
                @REMOVE@
                HTTP::header insert $f5r_header $f5r_value
            }
        }
    }
}

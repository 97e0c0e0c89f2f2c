# Managed by f5router: changes made here are overwritten.
#
# Options of Routes that act on requests and responses. The Rule of a Route names their record in f5router_http,
# if there is one. A record: options with a slash between them, each of words with a dot between them. Texts are
# hexadecimal.
#
# forwarded.POLICY: what happens to the headers that tell pods of the client, if it is not what the router does.
# hsts.TEXT: the header Strict-Transport-Security of a response, in place of the pod's.

when HTTP_REQUEST {
    # Variables live as long as the connection.
    set f5r_options ""
    if { [info exists f5router_http] } {
        set f5r_options [class match -value $f5router_http equals @FOLDER@/openshift_http_dg]
        unset f5router_http
    }
    set f5r_options [split $f5r_options "/"]
    # Requests for pools of others are left alone, where they are known.
    set f5r_route @ROUTE@
    if { [info exists f5router_route] && $f5router_route } {
        set f5r_route 1
    }
    set f5r_forwarded "@FORWARDED@"
    foreach f5r_option $f5r_options {
        set f5r_words [split $f5r_option "."]
        if { [lindex $f5r_words 0] eq "forwarded" } {
            set f5r_forwarded [lindex $f5r_words 1]
        }
    }
    if { $f5r_route && $f5r_forwarded ne "never" } {
        catch {
            set f5r_client [lindex [split [IP::client_addr] "%"] 0]
            set f5r_for $f5r_client
            if { [string first ":" $f5r_client] >= 0 } {
                set f5r_for [format {"[%s]"} $f5r_client]
            }
            # Nothing that could go on with another parameter.
            set f5r_host [string tolower [HTTP::host]]
            if { ![regexp {^[a-z0-9._-]+(:[0-9]+)?$} $f5r_host] } {
                set f5r_host [lindex [split $f5r_host ":"] 0]
                if { ![regexp {^[a-z0-9._-]+$} $f5r_host] } {
                    set f5r_host ""
                }
            }
            set f5r_proto "http"
            if { [info exists f5router_https] } {
                set f5r_proto "https"
            }
            set f5r_pairs [list X-Forwarded-For $f5r_client X-Forwarded-Host $f5r_host]
            lappend f5r_pairs X-Forwarded-Port [TCP::local_port] X-Forwarded-Proto $f5r_proto
            if { $f5r_forwarded eq "if-none" && [HTTP::header exists "X-Forwarded-Proto"] } {
                # Forwarded says what X-Forwarded-Proto does: its last word.
                set f5r_proto [string trim [lindex [split [HTTP::header value "X-Forwarded-Proto"] ","] end]]
            }
            lappend f5r_pairs Forwarded "for=$f5r_for;host=$f5r_host;proto=$f5r_proto"
            foreach { f5r_header f5r_value } $f5r_pairs {
                if { $f5r_forwarded eq "if-none" && [HTTP::header exists $f5r_header] } {
                    continue
                }
                if { $f5r_forwarded eq "replace" } {
                    @REMOVE@
                }
                HTTP::header insert $f5r_header $f5r_value
            }
        }
    }
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

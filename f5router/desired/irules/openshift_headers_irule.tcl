# Managed by f5router: changes made here are overwritten.
#
# Options of Routes that act on requests and responses. The Rule of a Route names their record in f5router_http,
# if there is one. A record: options with a slash between them, each of words with a dot between them. Texts are
# hexadecimal.
#
# forwarded.POLICY: what happens to the headers that tell pods of the client, if it is not what the router does.
# rewrite.PATH.TARGET: the path of a request, where it begins with PATH, is TARGET. Behind that "rest": what follows
# PATH is kept; "slash": without a slash at its beginning.
# request.ACTION, response.ACTION: what is done to a header; ACTION is set.NAME.VALUE or delete.NAME. A value has
# any number of words: t_TEXT, h_HEADER for what that has, d_ for a client's certificate, with
# converters behind that (_lower, _base64).
# hsts.TEXT: the header Strict-Transport-Security of a response, in place of the pod's.
@REPLY_FORMS@

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
    set f5r_hsts ""
    set f5r_request {}
    set f5r_response {}
    foreach f5r_option $f5r_options {
        set f5r_words [split $f5r_option "."]
        switch -- [lindex $f5r_words 0] {
            forwarded { set f5r_forwarded [lindex $f5r_words 1] }
            hsts { set f5r_hsts [binary format H* [lindex $f5r_words 1]] }
            request { lappend f5r_request [lrange $f5r_words 1 end] }
            response { lappend f5r_response [lrange $f5r_words 1 end] }
        }
    }
    if { $f5r_route } {
        set f5r_actions {}
        foreach f5r_option [split "@REQUEST@" "/"] {
            lappend f5r_actions [split $f5r_option "."]
        }
        @APPLY@
        set f5r_address ""
        catch {
            set f5r_ends [list [IP::client_addr] [TCP::client_port] [IP::local_addr] [TCP::local_port]]
            if { [info exists f5router_ends] } {
                set f5r_ends $f5router_ends
            }
            set f5r_address [lindex [split [lindex $f5r_ends 0] "%"] 0]
        }
        if { $f5r_forwarded ne "never" && $f5r_address ne "" } {
            catch {
                set f5r_for $f5r_address
                if { [string first ":" $f5r_address] >= 0 } {
                    set f5r_for [format {"[%s]"} $f5r_address]
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
                set f5r_pairs [list X-Forwarded-Host $f5r_host X-Forwarded-Port [lindex $f5r_ends 3]]
                lappend f5r_pairs X-Forwarded-Proto $f5r_proto
                if { $f5r_forwarded eq "if-none" && [HTTP::header exists "X-Forwarded-Proto"] } {
                    # Forwarded says what X-Forwarded-Proto does: its last word.
                    set f5r_proto [HTTP::header value "X-Forwarded-Proto"]
                    set f5r_proto [string trim [lindex [split $f5r_proto ","] end]]
                }
                lappend f5r_pairs Forwarded "for=$f5r_for;host=$f5r_host;proto=$f5r_proto"
                if { $f5r_forwarded eq "replace" } {
                    lappend f5r_pairs X-Forwarded-For $f5r_address
                }
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
        set f5r_actions $f5r_request
        @APPLY@
@UNIQUE_ID@        # HAProxy adds this one last of all.
        if { $f5r_forwarded ne "never" && $f5r_forwarded ne "replace" && $f5r_address ne "" } {
            catch {
                if { $f5r_forwarded eq "append" || ![HTTP::header exists "X-Forwarded-For"] } {
                    HTTP::header insert "X-Forwarded-For" $f5r_address
                }
            }
        }
    }

    foreach f5r_option $f5r_options {
        set f5r_words [split $f5r_option "."]
        if { [lindex $f5r_words 0] eq "rewrite" } {
            # A target may have scheme and host before its path.
            set f5r_uri [HTTP::uri]
            set f5r_origin ""
            regexp {^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*} $f5r_uri f5r_origin
            set f5r_uri [string range $f5r_uri [string length $f5r_origin] end]
            set f5r_query ""
            set f5r_at [string first "?" $f5r_uri]
            if { $f5r_at >= 0 } {
                set f5r_query [string range $f5r_uri $f5r_at end]
                set f5r_uri [string range $f5r_uri 0 [expr { $f5r_at - 1 }]]
            }
            set f5r_prefix [binary format H* [lindex $f5r_words 1]]
            set f5r_length [string length $f5r_prefix]
            if { [string index $f5r_uri 0] eq "/" && ($f5r_length == 0 || [string first $f5r_prefix $f5r_uri] == 0) } {
                set f5r_rest ""
                if { [lsearch -exact $f5r_words "rest"] >= 0 } {
                    set f5r_rest [string range $f5r_uri $f5r_length end]
                    if { [lsearch -exact $f5r_words "slash"] >= 0 && [string index $f5r_rest 0] eq "/" } {
                        set f5r_rest [string range $f5r_rest 1 end]
                    }
                }
                set f5r_target [binary format H* [lindex $f5r_words 2]]
                # Fails where another iRule has answered the request.
                catch { HTTP::uri "$f5r_origin$f5r_target$f5r_rest$f5r_query" }
            }
        }
    }
@REPLIES@
}

when HTTP_RESPONSE {
    if { [info exists f5r_route] && $f5r_route } {
        if { $f5r_hsts ne "" } {
            set f5r_header "Strict-Transport-Security"
            @REMOVE@
            HTTP::header insert $f5r_header $f5r_hsts
        }
@HSTS@
        set f5r_actions $f5r_response
        foreach f5r_option [split "@RESPONSE@" "/"] {
            lappend f5r_actions [split $f5r_option "."]
        }
        @APPLY@
    }
}

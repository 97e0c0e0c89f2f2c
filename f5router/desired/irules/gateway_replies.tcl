    foreach f5r_option $f5r_options {
        set f5r_words [split $f5r_option "."]
        set f5r_status [lindex $f5r_words 1]
        if { [lindex $f5r_words 0] eq "answer" && rand() * 1000000 < [lindex $f5r_words 2] } {
            # Fails where another iRule has answered the request.
            catch {
                HTTP::respond $f5r_status -version auto content "" noserver
                set f5router_route 0
            }
        } elseif { [lindex $f5r_words 0] eq "redirect" } {
            set f5r_host [binary format H* [lindex $f5r_words 3]]
            if { $f5r_host eq "" } {
                set f5r_host [string tolower [lindex [split [HTTP::host] ":"] 0]]
            }
            set f5r_uri [HTTP::uri]
            regsub {^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*} $f5r_uri "" f5r_uri
            if { [llength $f5r_words] > 5 } {
                set f5r_query ""
                set f5r_at [string first "?" $f5r_uri]
                if { $f5r_at >= 0 } {
                    set f5r_query [string range $f5r_uri $f5r_at end]
                    set f5r_uri [string range $f5r_uri 0 [expr { $f5r_at - 1 }]]
                }
                set f5r_rest ""
                if { [lsearch -exact $f5r_words "rest"] >= 0 } {
                    set f5r_length [string length [binary format H* [lindex $f5r_words 5]]]
                    set f5r_rest [string range $f5r_uri $f5r_length end]
                    if { [lsearch -exact $f5r_words "slash"] >= 0 && [string index $f5r_rest 0] eq "/" } {
                        set f5r_rest [string range $f5r_rest 1 end]
                    }
                }
                set f5r_uri "[binary format H* [lindex $f5r_words 6]]$f5r_rest$f5r_query"
            }
            # Nothing that could go on with the name or end the header.
            if { ![regexp {^[a-z0-9._-]+(:[0-9]+)?$} $f5r_host] || ![regexp {^/[!-~]*$} $f5r_uri] } {
                catch { HTTP::respond 400 -version auto content "" noserver }
            } else {
                set f5r_host "$f5r_host[binary format H* [lindex $f5r_words 4]]"
                set f5r_location "[lindex $f5r_words 2]://$f5r_host$f5r_uri"
                catch {
                    HTTP::respond $f5r_status -version auto content "" noserver Location $f5r_location
                }
            }
            set f5router_route 0
        }
    }

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

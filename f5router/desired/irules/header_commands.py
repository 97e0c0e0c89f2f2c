"""Commands on headers that an iRule repeats: TMM's Tcl has no procedures here."""

import re

REMOVE = """for { set f5r_i 0 } { $f5r_i < 4096 && [HTTP::header exists $f5r_header] } { incr f5r_i } {
                    HTTP::header remove $f5r_header
                }"""
"""Commands that remove every header named f5r_header: whether one command removes all is not documented."""

APPLY = """foreach f5r_words $f5r_actions {
            catch {
                set f5r_header [binary format H* [lindex $f5r_words 1]]
                set f5r_value ""
                foreach f5r_piece [lrange $f5r_words 2 end] {
                    set f5r_parts [split $f5r_piece "_"]
                    set f5r_text [binary format H* [lindex $f5r_parts 1]]
                    if { [lindex $f5r_parts 0] eq "d" } {
                        set f5r_text ""
                        if { [info exists f5router_der] } {
                            set f5r_text $f5router_der
                        }
                    } elseif { [lindex $f5r_parts 0] eq "h" } {
                        # The last of the values with commas between them; not those in quotes.
                        set f5r_text [HTTP::header value $f5r_text]
                        if { [string first {"} $f5r_text] >= 0 } {
                            regexp {([^,"]|"[^"]*")*$} $f5r_text f5r_text
                        } else {
                            set f5r_text [lindex [split $f5r_text ","] end]
                        }
                        set f5r_text [string trim $f5r_text]
                    }
                    foreach f5r_converter [lrange $f5r_parts 2 end] {
                        if { $f5r_converter eq "lower" } {
                            set f5r_text [string tolower $f5r_text]
                        } elseif { $f5r_converter eq "base64" } {
                            set f5r_text [b64encode $f5r_text]
                        }
                    }
                    append f5r_value $f5r_text
                }
                # A line that is folded is read with its line break.
                regsub -all {[[:cntrl:]]+} $f5r_value " " f5r_value
                @REMOVE@
                if { [lindex $f5r_words 0] eq "set" } {
                    # "insert" would take a header named lws for an option.
                    HTTP::header replace $f5r_header $f5r_value
                }
            }
        }"""
"""Commands that carry out f5r_actions, a list of actions that are lists of words."""

ACTION = re.compile(r"(?:set|delete)[.][0-9a-f]+(?:[.][thd]_[0-9a-f]*(?:_[a-z0-9]+)*)*")
"""An action as header_actions encodes it."""

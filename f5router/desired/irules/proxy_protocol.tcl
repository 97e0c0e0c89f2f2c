if { $f5r_skip == 0 } {
        set f5r_header "bad"
        if { [catch {
            set f5r_ends [list [IP::client_addr] [TCP::client_port] [IP::local_addr] [TCP::local_port]]
            set f5r_domain ""
            regexp {%.*$} [lindex $f5r_ends 0] f5r_domain
            set f5r_hex ""
            binary scan [TCP::payload 16] H* f5r_hex
            # Two addresses, each of four numbers or of eight words of hexadecimal digits.
            set f5r_pair {}
            set f5r_ports {}
            if { [string range $f5r_hex 0 11] eq "50524f585920" } {
                set f5r_line [TCP::payload 107]
                set f5r_at [string first [format %c%c 13 10] $f5r_line]
                if { $f5r_at >= 0 } {
                    set f5r_line [string range $f5r_line 0 [expr { $f5r_at - 1 }]]
                    set f5r_words [split $f5r_line " "]
                    set f5r_kind [lindex $f5r_words 1]
                    if { $f5r_kind eq "UNKNOWN" } {
                        set f5r_header "good"
                    } elseif { [regexp {^PROXY TCP[46] [0-9a-fA-F:.]+ [0-9a-fA-F:.]+ [0-9]{1,5} [0-9]{1,5}$} $f5r_line] } {
                        foreach f5r_text [lrange $f5r_words 2 3] {
                            set f5r_numbers {}
                            if { $f5r_kind eq "TCP4" } {
                                if { [regexp {^[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}$} $f5r_text] } {
                                    set f5r_numbers [split $f5r_text "."]
                                }
                            } else {
                                # The last two words may be four numbers.
                                if { [regexp {^(.*:)([0-9]{1,3})[.]([0-9]{1,3})[.]([0-9]{1,3})[.]([0-9]{1,3})$} $f5r_text f5r_all f5r_text f5r_a f5r_b f5r_c f5r_d] } {
                                    scan "$f5r_a $f5r_b $f5r_c $f5r_d" "%d %d %d %d" f5r_a f5r_b f5r_c f5r_d
                                    append f5r_text [format %02x%02x:%02x%02x $f5r_a $f5r_b $f5r_c $f5r_d]
                                }
                                set f5r_numbers [split $f5r_text ":"]
                                set f5r_middle [string first "::" $f5r_text]
                                if { $f5r_middle >= 0 } {
                                    set f5r_numbers [split [string range $f5r_text 0 [expr { $f5r_middle - 1 }]] ":"]
                                    set f5r_rest [split [string range $f5r_text [expr { $f5r_middle + 2 }] end] ":"]
                                    set f5r_zeros [expr { 8 - [llength $f5r_numbers] - [llength $f5r_rest] }]
                                    for { set f5r_i 0 } { $f5r_i < $f5r_zeros } { incr f5r_i } {
                                        lappend f5r_numbers 0
                                    }
                                    set f5r_numbers [concat $f5r_numbers $f5r_rest]
                                    if { $f5r_zeros < 1 } {
                                        set f5r_numbers {}
                                    }
                                }
                                if { [llength $f5r_numbers] != 8 } {
                                    set f5r_numbers {}
                                }
                            }
                            lappend f5r_pair $f5r_numbers
                        }
                        set f5r_ports [lrange $f5r_words 4 5]
                    }
                    set f5r_skip [expr { $f5r_at + 2 }]
                } elseif { $f5r_have < 107 } {
                    set f5r_header "more"
                }
            } elseif { [string range $f5r_hex 0 23] eq "0d0a0d0a000d0a515549540a" } {
                if { $f5r_have < 16 } {
                    set f5r_header "more"
                } else {
                    binary scan [TCP::payload 16] @12H2H2S f5r_version f5r_kind f5r_length
                    set f5r_length [expr { $f5r_length & 0xffff }]
                    if { ($f5r_version eq "20" || $f5r_version eq "21") && $f5r_length <= 4096 } {
                        if { $f5r_have < 16 + $f5r_length } {
                            set f5r_header "more"
                        } elseif { $f5r_version eq "21" && $f5r_kind eq "11" && $f5r_length >= 12 } {
                            binary scan [TCP::payload 28] @16a4a4SS f5r_a f5r_b f5r_c f5r_d
                            foreach f5r_text [list $f5r_a $f5r_b] {
                                binary scan $f5r_text c4 f5r_bytes
                                set f5r_numbers {}
                                foreach f5r_number $f5r_bytes {
                                    lappend f5r_numbers [expr { $f5r_number & 0xff }]
                                }
                                lappend f5r_pair $f5r_numbers
                            }
                            set f5r_ports [list [expr { $f5r_c & 0xffff }] [expr { $f5r_d & 0xffff }]]
                        } elseif { $f5r_version eq "21" && $f5r_kind eq "21" && $f5r_length >= 36 } {
                            binary scan [TCP::payload 52] @16H32H32SS f5r_a f5r_b f5r_c f5r_d
                            foreach f5r_text [list $f5r_a $f5r_b] {
                                set f5r_numbers {}
                                for { set f5r_i 0 } { $f5r_i < 32 } { incr f5r_i 4 } {
                                    lappend f5r_numbers [string range $f5r_text $f5r_i [expr { $f5r_i + 3 }]]
                                }
                                lappend f5r_pair $f5r_numbers
                            }
                            set f5r_ports [list [expr { $f5r_c & 0xffff }] [expr { $f5r_d & 0xffff }]]
                        } elseif { $f5r_version eq "20" } {
                            set f5r_header "good"
                        }
                        if { $f5r_header ne "more" } {
                            set f5r_skip [expr { 16 + $f5r_length }]
                        }
                    }
                }
            } elseif { $f5r_hex eq "" || [string first $f5r_hex "50524f585920"] == 0
                    || [string first $f5r_hex "0d0a0d0a000d0a515549540a"] == 0 } {
                set f5r_header "more"
            }
            if { [llength $f5r_pair] == 2 } {
                set f5r_header "good"
                set f5r_given {}
                foreach f5r_numbers $f5r_pair f5r_port $f5r_ports {
                    set f5r_values {}
                    foreach f5r_text $f5r_numbers {
                        set f5r_number -1
                        if { [llength $f5r_numbers] == 8 && [regexp {^[0-9a-fA-F]{1,4}$} $f5r_text] } {
                            scan $f5r_text %x f5r_number
                        } elseif { [llength $f5r_numbers] == 4 } {
                            scan $f5r_text %d f5r_number
                        }
                        if { $f5r_number < 0 || ([llength $f5r_numbers] == 4 && $f5r_number > 255) } {
                            set f5r_header "bad"
                        }
                        lappend f5r_values $f5r_number
                    }
                    scan $f5r_port %d f5r_port
                    if { $f5r_port > 65535 } {
                        set f5r_header "bad"
                    }
                    if { [llength $f5r_values] == 8 && [lrange $f5r_values 0 5] eq {0 0 0 0 0 65535} } {
                        # An IPv4 address.
                        set f5r_a [lindex $f5r_values 6]
                        set f5r_b [lindex $f5r_values 7]
                        set f5r_values [list [expr { $f5r_a / 256 }] [expr { $f5r_a % 256 }]]
                        lappend f5r_values [expr { $f5r_b / 256 }] [expr { $f5r_b % 256 }]
                    }
                    if { [llength $f5r_values] == 4 } {
                        lappend f5r_given [join $f5r_values "."] $f5r_port
                    } elseif { [llength $f5r_values] == 8 } {
                        # The first of the longest rows of zeros is left out (RFC 5952).
                        set f5r_row 0
                        set f5r_longest 1
                        set f5r_first -1
                        set f5r_words {}
                        for { set f5r_i 0 } { $f5r_i < 8 } { incr f5r_i } {
                            set f5r_number [lindex $f5r_values $f5r_i]
                            lappend f5r_words [format %x $f5r_number]
                            if { $f5r_number != 0 } {
                                set f5r_row 0
                            } else {
                                incr f5r_row
                                if { $f5r_row > $f5r_longest } {
                                    set f5r_longest $f5r_row
                                    set f5r_first [expr { $f5r_i - $f5r_row + 1 }]
                                }
                            }
                        }
                        set f5r_text [join $f5r_words ":"]
                        if { $f5r_first >= 0 } {
                            set f5r_text [join [lrange $f5r_words 0 [expr { $f5r_first - 1 }]] ":"]
                            append f5r_text "::" [join [lrange $f5r_words [expr { $f5r_first + $f5r_longest }] end] ":"]
                        }
                        lappend f5r_given $f5r_text $f5r_port
                    } else {
                        set f5r_header "bad"
                    }
                }
                # Who reads them finds the route domain where that of a connection has it.
                set f5r_ends {}
                foreach { f5r_text f5r_port } $f5r_given {
                    lappend f5r_ends "$f5r_text$f5r_domain" $f5r_port
                }
            }
        }] } {
            set f5r_header "bad"
        }
        if { $f5r_header eq "more" } {
            TCP::collect
            return
        }
        if { $f5r_header ne "good" } {
            # Who is not named is nobody: no list of clients could tell.
            set f5r_need 0
            reject
            return
        }
        # Read by our other iRules.
        set f5router_ends $f5r_ends
    }
    set f5r_have [expr { $f5r_have - $f5r_skip }]

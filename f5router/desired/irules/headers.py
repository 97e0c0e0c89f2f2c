"""Commands of iRules on headers, among them the ID of a request: TMM's Tcl has no procedures here."""

import re

from f5router.model.http_edge import MOST_ID, UniqueID

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
                @CHANGE@
                if { [lindex $f5r_words 0] eq "set" } {
                    # "insert" would take a header named lws for an option.
                    HTTP::header replace $f5r_header $f5r_value
                }
            }
        }"""
"""Commands that carry out f5r_actions, a list of actions that are lists of words."""

_ADD = """if { [lindex $f5r_words 0] eq "add" } {
                    HTTP::header insert $f5r_header $f5r_value
                } else {
                    @REMOVE@
                }"""

_REPLY_FORMS = """# ACTION is add.NAME.VALUE, too.
# answer.STATUS.SHARE: an answer without a pod, to SHARE of a million requests.
# redirect.STATUS.SCHEME.HOST.PORT: an answer that sends the client elsewhere, with path and query of the
# request; without HOST to the host of the request. PATH.TARGET, as of rewrite, may follow.
"""

_RULE_STAYS = """\
    set f5r_rule_stays ""
    if { [info exists f5router_stay] } {
        # The Rule of an HTTPRoute, whose pool has no record.
        set f5r_rule_stays $f5router_stay
        unset f5router_stay
    }
"""
_AS_RULE_SAYS = """\
        if { $f5r_rule_stays ne "" } {
            set f5r_stay $f5r_rule_stays
        }
"""
"""Commands of openshift_request_irule: how clients stay with a pod may be said by the Rule."""


def fill(text: str, *, replies: str) -> str:
    """Return the text of an iRule with all commands that are here.

    Args:
        replies: commands that answer in place of pods; "" without HTTPRoutes, which alone have such answers
            and headers to add. The text is then that of earlier releases: an upgrade does not write it.
    """
    for mark, commands in (("@REPLY_FORMS@\n", _REPLY_FORMS), ("@RULE_STAYS@\n", _RULE_STAYS),
                           ("@AS_RULE_SAYS@\n", _AS_RULE_SAYS)):
        text = text.replace(mark, commands if replies else "")
    text = text.replace("@REPLIES@\n", f"\n{replies}" if replies else "")
    text = text.replace("@APPLY@", APPLY).replace("@CHANGE@", _ADD if replies else "@REMOVE@")
    return text.replace("@REMOVE@", REMOVE)

_HSTS = """        if { [info exists f5router_https] && ![HTTP::header exists "Strict-Transport-Security"] } {
            HTTP::header insert "Strict-Transport-Security" [binary format H* @TEXT@]
        }
"""


def hsts_commands(text: str) -> str:
    """Return the commands that add Strict-Transport-Security to responses without it; "" for none."""
    return _HSTS.replace("@TEXT@", text.encode().hex()) if text else ""


ACTION = re.compile(r"(?:set|add|delete)[.][0-9a-f]+(?:[.][thd]_[0-9a-f]*(?:_[a-z0-9]+)*)*")
"""An action as header_actions encodes it."""

PIECE = re.compile(r"t_(?:[0-9a-f]{2})+|(?:ci|fi|cp|fp|Ts|rt|pid|H)(?:_[xq])?")
"""A piece of an ID's value, as unique_id.parse_format returns it."""

_COMMANDS = """        catch {
            # Each TMM counts for itself: its number is a part of the count.
            if { ![info exists static::f5router_requests] } {
                set static::f5router_requests 0
            }
            set f5r_count $static::f5router_requests
            set static::f5router_requests [expr { ($f5r_count + 1) % 2000000 }]
            set f5r_unit [TMM::cmp_unit]
            set f5r_id ""
            foreach f5r_piece {@PIECES@} {
                set f5r_parts [split $f5r_piece "_"]
                switch -- [lindex $f5r_parts 0] {
                    t { set f5r_text [binary format H* [lindex $f5r_parts 1]] }
                    ci { set f5r_text $f5r_address }
                    cp { set f5r_text [lindex $f5r_ends 1] }
                    fi { set f5r_text [lindex [split [lindex $f5r_ends 2] "%"] 0] }
                    fp { set f5r_text [lindex $f5r_ends 3] }
                    H { set f5r_text [info hostname] }
                    Ts { set f5r_text [clock seconds] }
                    rt { set f5r_text [expr { $f5r_count * 1024 + $f5r_unit }] }
                    pid { set f5r_text $f5r_unit }
                }
                set f5r_flag [lindex $f5r_parts 1]
                if { $f5r_flag eq "q" } {
                    set f5r_text [format {"%s"} $f5r_text]
                } elseif { $f5r_flag eq "x" && [string first ":" $f5r_text] >= 0 } {
                    # Two colons stand for as many zeros as are missing.
                    set f5r_at [string first "::" $f5r_text]
                    set f5r_words [split $f5r_text ":"]
                    if { $f5r_at >= 0 } {
                        set f5r_words [split [string range $f5r_text 0 [expr { $f5r_at - 1 }]] ":"]
                        set f5r_rest [split [string range $f5r_text [expr { $f5r_at + 2 }] end] ":"]
                        set f5r_zeros [expr { 8 - [llength $f5r_words] - [llength $f5r_rest] }]
                        for { set f5r_i 0 } { $f5r_i < $f5r_zeros } { incr f5r_i } {
                            lappend f5r_words 0
                        }
                        set f5r_words [concat $f5r_words $f5r_rest]
                    }
                    set f5r_text ""
                    foreach f5r_word $f5r_words {
                        append f5r_text [format %04X 0x$f5r_word]
                    }
                } elseif { $f5r_flag eq "x" && [string first "." $f5r_text] >= 0 } {
                    set f5r_words [split $f5r_text "."]
                    set f5r_text ""
                    foreach f5r_word $f5r_words {
                        append f5r_text [format %02X $f5r_word]
                    }
                } elseif { $f5r_flag eq "x" } {
                    set f5r_text [format %04X $f5r_text]
                }
                append f5r_id $f5r_text
            }
            HTTP::header insert @NAME@ [string range $f5r_id 0 @LAST@]
        }
"""


def id_commands(unique_id: UniqueID | None) -> str:
    """Return the commands that add the header; "" for none.

    Those of one request of a TMM are never those of another one in the same second: a TMM gives fewer than
    two million IDs in a second, and the last ten bits of %rt are the TMM's number. HAProxy, which has one
    process, counts in it. %pid is that number too. Each variable has the case and the width of HAProxy's.
    Sources: HAProxy, src/log.c (lf_ip, lf_port, LOG_FMT_COUNTER) and src/http_ana.c (the header is added
    behind all actions, before X-Forwarded-For); clouddocs, TMM::cmp_unit (from zero), static (a copy for each
    TMM), IP::local_addr, HTTP::header.

    Raises: ValueError: the name or a piece has an unknown form.
    """
    if unique_id is None:
        return ""
    if unknown := [piece for piece in unique_id.pieces if not PIECE.fullmatch(piece)]:
        raise ValueError(f"{unknown=}")
    name = f"[binary format H* {unique_id.name.encode().hex()}]"
    text = _COMMANDS.replace("@NAME@", name).replace("@LAST@", str(MOST_ID - 1))
    return text.replace("@PIECES@", " ".join(unique_id.pieces))

"""Commands of openshift_timeout_irule for the time-outs of a front end, which its Routes have by default.

A timer runs its script in the context of the event that began it, with the variables of the connection, and
ends with the connection. Sources: clouddocs, after (a script does not hold up the rule, after cancel);
DevCentral, "v10 iRules and the after command", and "Mitigating Slow HTTP Post DDoS Attacks With iRules",
where a timer ends a connection whose request does not come. No event comes with the first byte of a later
request, nor at the end of a response: the first request alone has a time for its headers, and the pause
behind a response is as long as one inside it may be. Inferred, not seen on a device: that `reject` takes
effect in the script of a timer, as TCP::close does in the latter example.

No source says if HTTP_REQUEST comes for a request that a policy has answered. If it does not, the timer ends
a connection that has had nothing but such answers.
"""

from f5router.model.virtual_server import FrontEndLimits

USUAL_RESPONSE_S = 30
"""How long a response may stand still if only the pause between requests is set. Source: openshift/router,
haproxy-config.template (timeout server)."""

_HEAD = """    catch {
        # The headers of the first request.
        set f5r_head [after @MS@ {
            if { [info exists f5r_head] && ![info exists f5router_passthrough] } {
                reject
            }
        }]
    }
"""

_HELLO = """    catch {
        # openshift_passthrough_irule waits for a ClientHello until f5r_need is 0.
        set f5r_hello_timer [after @MS@ {
            if { [info exists f5r_need] && $f5r_need != 0 } {
                reject
            }
        }]
    }
"""

_CANCEL = """when HTTP_REQUEST priority 1 {
    if { [info exists f5r_head] } {
        catch { after cancel $f5r_head }
        unset f5r_head
    }
}

"""

_PASSED = """        if { $f5r_silent eq "" || $f5r_silent == 0 } {
            set f5r_silent @S@
        }
"""

_DEFAULT = """        if { $@NAME@ == 0 } {
            set @NAME@ @S@
        }
"""

_PAUSE = """        } elseif { [HTTP::status] != 101 } {
            set f5r_timed_out 1
            set f5r_pause @S@
            if { $f5r_wait > $f5r_pause } {
                set f5r_pause $f5r_wait
            }
            clientside { IP::idle_timeout $f5r_pause }
            if { $f5r_server_idle > $f5r_pause } {
                set f5r_pause $f5r_server_idle
            }
            IP::idle_timeout $f5r_pause
"""


def fill(text: str, limits: FrontEndLimits) -> str:
    """Return the text of the iRule with the commands for what is set."""
    pause = str(max(limits.keep_alive_s, limits.response_s or USUAL_RESPONSE_S)) if (
        limits.keep_alive_s) else "$f5r_idle"
    commands = {
        "@TIMERS@": _filled(_HEAD, "@MS@", limits.head_ms) + _filled(_HELLO, "@MS@", limits.hello_ms),
        "@CANCEL@": _CANCEL if limits.head_ms else "",
        "@PASSED@": _filled(_PASSED, "@S@", limits.tunnel_s),
        "@DEFAULTS@": _filled(_DEFAULT, "@S@", limits.response_s).replace("@NAME@", "f5r_wait")
        + _filled(_DEFAULT, "@S@", limits.tunnel_s).replace("@NAME@", "f5r_silent"),
        "@PAUSE@": _PAUSE.replace("@S@", pause) if limits.keep_alive_s or limits.response_s else "",
    }
    for mark, wanted in commands.items():
        text = text.replace(f"{mark}\n", wanted)
    return text


def _filled(commands: str, mark: str, time: int) -> str:
    """Return commands with a time; "" without one."""
    return commands.replace(mark, str(time)) if time else ""

"""iRules of the router: Tcl texts with the folder of their data-groups filled in.

The texts run in TMM's Tcl 8.4, and as they are in a stock tclsh, where the tests run them: none of
TMM's word operators, no procedures, ASCII only (TMOS refuses `\\u` escapes in a rule's text). TMOS
strips white space around a text; so do we, so that the text read back equals the text wanted.
Source: bigip-behaviour.md B5.

Variables of an iRule belong to the client's connection and are shared by all iRules on the virtual
server. Ours begin with f5router_ (read by our other iRule) or f5r_ (scratch).
"""

import functools
import re
from collections.abc import Iterable
from importlib import resources

from f5router.desired.irules import headers, pages, timeouts, tls_commands
from f5router.model import names, route_options
from f5router.model.http_edge import ErrorPage, UniqueID
from f5router.model.virtual_server import FACTORY, FrontEndLimits

STRIPPED_HEADERS = (
    "proxy", "x-ssl", "x-ssl-client-cert", "x-ssl-client-cn", "x-ssl-client-der", "x-ssl-client-dn",
    "x-ssl-client-notafter", "x-ssl-client-notbefore", "x-ssl-client-serial", "x-ssl-client-sha1",
    "x-ssl-client-subject", "x-ssl-client-verify", "x-ssl-client-version", "x-ssl-issuer",
)
"""Request headers that never reach a pod as a client sent them: `Proxy`, which CGI programs take for
their proxy (httpoxy.org), and headers that describe the client's certificate. Source: openshift/router,
haproxy-config.template; x-ssl-client-cert, which other proxies set, is not among its names."""

SOURCE_S = 3600
"""How long a client that sends nothing stays with its pod, in seconds. HAProxy computes the pod from the
client's address and forgets nobody; a BIG-IP keeps a record for each client."""

LEASE_S = 300
"""How long a connection counts as open without a new request, in seconds. No iRule sees the end of those that
a failover ends: they must not count for long."""

MOST_CLIENTS = 100_000
"""Clients of a Route whose rate is counted in one window. Source: openshift/router, haproxy-config.template
(stick-table size 100k); HAProxy forgets the oldest ones instead."""

_RELEASE = """if { [info exists f5r_seats] } {
        catch { table delete -subtable $f5r_seats $f5r_seat }
        unset f5r_seats
    }"""
"""Commands that end the count of a connection, once."""

_UNCOUNTED = """if { ![info exists static::f5router_uncounted] } {
        # Once for each TMM: every connection would say it.
        set static::f5router_uncounted 1
        log local0.err "f5router: limits of clients are not enforced, for their session table failed"
    }"""

_CLIENT = """set f5r_client [IP::client_addr]
                if { [info exists f5router_ends] } {
                    set f5r_client [lindex $f5router_ends 0]
                }"""
"""Commands that set f5r_client to the address of the client, or to what a load balancer says that it is."""

_COUNT = f"""set f5r_now [clock seconds]
    set f5r_window [expr {{ $f5r_now / $f5r_period }}]
    set f5r_left [expr {{ 2 * ($f5r_period - $f5r_now % $f5r_period) - 1 }}]
    set f5r_rate "f5router $f5r_kind $f5r_client $f5r_counted"
    set f5r_events [table incr "$f5r_rate $f5r_window"]
    if {{ $f5r_events == 1 }} {{
        table lifetime "$f5r_rate $f5r_window" [expr {{ 2 * $f5r_period }}]
        set f5r_clients [table incr "f5router $f5r_kind $f5r_counted $f5r_window"]
        if {{ $f5r_clients == 1 }} {{
            table lifetime "f5router $f5r_kind $f5r_counted $f5r_window" [expr {{ 2 * $f5r_period }}]
        }} elseif {{ $f5r_clients > {MOST_CLIENTS} }} {{
            table delete "$f5r_rate $f5r_window"
        }}
    }}
    set f5r_past [table lookup -notouch "$f5r_rate [expr {{ $f5r_window - 1 }}]"]
    if {{ $f5r_past ne "" }} {{
        set f5r_events [expr {{ $f5r_events + $f5r_past * $f5r_left / (2 * $f5r_period) }}]
    }}
    if {{ $f5r_events >= $f5r_limit }} {{
        set f5r_refused 1
    }}"""
"""Commands that count an event of f5r_kind in f5r_period seconds, and set f5r_refused at f5r_limit.

Seconds are whole, so that the part of the earlier window is that at the middle of a second. HAProxy adds the
windows up in the same way. Source: HAProxy, include/haproxy/freq_ctr.h.
"""

_WARN = """if { $f5r_failed } {
        # Once in ten minutes for each TMM: it may be so for every request.
        set f5r_now [clock seconds]
        if { ![info exists static::f5router_warned] || $f5r_now - $static::f5router_warned >= 600 } {
            set static::f5router_warned $f5r_now
            log local0.warn "f5router: no persistence for $f5r_want"
        }
    }"""

_COOKIE_VALUE = r"^([0-9]+[.][0-9]+[.]0000|rd[0-9]+o[0-9a-f]+o[0-9]+|vi[0-9a-f]+[.][0-9]+)$"
"""Form of the values that a BIG-IP gives its persistence cookies. Source: K6917."""

_MARK = "# Managed by f5router"
"""The first words of each of our texts."""

# Plain text to Tcl, also between quotes, and legal in the name of a folder.
_FOLDER = re.compile(r"(/[A-Za-z0-9_.-]+)+")


def is_ours(text: str) -> bool:
    """True if a text is an iRule of this router, of any release."""
    return text.lstrip().startswith(_MARK)


def passthrough_irule(folder: str, *, source: bool = True, proxied: bool = False, strict: bool = False,
                      any_depth: bool = False) -> str:
    """Return the text of openshift_passthrough_irule, for the HTTPS virtual server.

    A connection whose SNI is a record's name in ssl_passthrough_servername_dg goes to the pool that
    is the record's data, with TLS untouched; so does one whose SNI has no record of its own, but its
    domain with a dot before it has. Every other connection stays exactly as it was found, as do those
    whose record is "terminate". Names of the records, also of those of any depth: model/sni_records.py.

    While it waits for a ClientHello the server side is not connected: not for virtual servers of
    protocols in which the server speaks first. A silent client is left to the idle timeout.

    With `source` a client stays with its pod: `persist uie` with a key of the client's address and the pool,
    so that no other pool ever finds the record, whatever match-across settings do. A record of the same name
    in openshift_persistence_dg goes before `source`.
    Source: clouddocs, persist (valid in CLIENT_DATA and HTTP_REQUEST). That it works on a virtual server
    without a persistence profile is inferred; where it fails, the connection is balanced as any other.
    A warning is logged at most once in ten minutes: static variables last as long as the TMM.

    Args:
        folder: full path of the folder that holds the data-groups, such as /Common.
        source: True if clients stay with their pods where no record says otherwise.
        proxied: True if connections begin with a header of the PROXY protocol, which it removes.
        strict: True if a name without a certificate is refused: tls_commands.py.
        any_depth: True if there may be records of wildcards of any depth, sni_records.EVERY, and records
            that begin with names.ENDED: TLS of these names ends here, and HTTP is in passthrough mode from
            before the handshake on (clouddocs, HTTP::disable).
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_passthrough_irule.tcl", folder, source=source, proxied=proxied,
                 strict=strict, any_depth=any_depth)


def proxy_irule(folder: str) -> str:
    """Return the text of openshift_proxy_irule, for virtual servers on which clients speak no TLS.

    passthrough_irule has the same commands for those on which they do.
    Args: folder: full path of the folder.
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_proxy_irule.tcl", folder, proxied=True)


def share_irule(folder: str, share: int) -> str:
    """Return the text of openshift_share_irule. Args: share: of the connections, in millionths."""
    return _text("openshift_share_irule.tcl", folder).replace("@SHARE@", str(share))


def reencrypt_irule(folder: str) -> str:
    """Return the text of openshift_reencrypt_irule, for virtual servers that carry a server SSL profile.

    Records of ssl_reencrypt_serverssl_dg: a pool's full path with the full path of its server SSL
    profile, or names.BY_SERVICE; a virtual server's full path with "plain" when the server SSL profile it
    carries is ours, only there to make TLS possible. Pools of ours without a record get clear text.

    LB::server priority is the priority group of the pod that was chosen (clouddocs, LB::server). A pod whose
    group has no record gets no request: that of another Service would verify another name.

    Args: folder: full path of the folder that holds the data-group and our pools.
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_reencrypt_irule.tcl", folder)


def timeout_irule(folder: str, limits: FrontEndLimits = FACTORY) -> str:
    """Return the text of openshift_timeout_irule, for virtual servers with an http profile.

    IP::idle_timeout changes the idle time-out of the side on which it is called, in seconds; the other side
    is reached by clientside. HTTP_REQUEST_SEND is an event of the server side, before each request; with a
    OneConnect profile there is no SERVER_CONNECTED for most of them. Sources: clouddocs, IP::idle_timeout
    (its example sets one in SERVER_CONNECTED), clientside, HTTP_REQUEST_SEND.

    A late response ends in a reset, not in 504 as from HAProxy. An example of clouddocs, after, calls
    HTTP::respond in such a case; what becomes of the pod's response then is not documented, and it must not
    be the answer to the next request.

    Args:
        folder: full path of the folder that holds the data-group and our pools.
        limits: those of the front end; timeouts.py has what is added for them.
    Raises: ValueError: folder is not a plain full path.
    """
    return timeouts.fill(_text("openshift_timeout_irule.tcl", folder), limits)


def unavailable_irule(folder: str, page: ErrorPage | None = None) -> str:
    """Return the text of openshift_unavailable_irule, for virtual servers with an http profile.

    It answers 503 in LB_FAILED, which comes when no pool was chosen, no member is available or none
    can be connected to, and never after a redirect or another answer, whatever the order of policies and
    iRules. Pools and nodes of other makers keep what their virtual server does. The only command of
    HTTP in it is one that TMOS takes in LB_FAILED; HTTP::has_responded is not in every version, and
    a command that a device does not know refuses the whole text.
    Sources: tmsh reference, ltm rule event LB_FAILED; clouddocs, HTTP::respond (valid in LB_FAILED,
    -version since 11.2), LB::server, LB::reselect; bigip-behaviour.md B5.

    Args: folder: full path of the folder that holds our pools; page: None for the built-in one.
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_unavailable_irule.tcl", folder, respond=pages.respond(page))


def not_found_irule(folder: str, page: ErrorPage) -> str:
    """Return the text of openshift_not_found_irule, for virtual servers with an http profile.

    It acts in LB_FAILED before unavailable_irule, which it passes over as other iRules can. An iRule of its
    own, so that each page has the room of an iRule.

    Args: folder: full path of the folder that holds openshift_nowhere.
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_not_found_irule.tcl", folder, respond=pages.respond(page))


def cookie_irule(folder: str) -> str:
    """Return the text of openshift_session_cookie_irule, for virtual servers with an http profile.

    The session cookie that request_irule asks for leaves the request in HTTP_REQUEST_RELEASE, after the
    BIG-IP has used it, and gets its attributes in HTTP_RESPONSE_RELEASE, where cookies of the BIG-IP are
    visible whether or not they were in HTTP_RESPONSE. The Set-Cookie header is written anew, because
    HTTP::cookie attribute is not in every version and adds no blank (bug ID 801705). All cookies of the
    name are removed, one after the other: no document says which one is read, or if one call removes all.
    Sources: clouddocs, HTTP_REQUEST_RELEASE (its example changes headers), HTTP_RESPONSE_RELEASE,
    HTTP::cookie; f5devcentral/irules-toolbox, samesite-attributes.tcl and its issue 5; HAProxy, cookie
    insert indirect nocache httponly. An iRule of its own, so that a device without these events refuses the
    cookies alone.

    Args: folder: full path of the folder that holds our objects.
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_session_cookie_irule.tcl", folder)


def request_irule(folder: str, *, page: bool | ErrorPage, persistence: str = names.COOKIE, cookie: str = "",
                  proxied: bool = False, gateways: bool = False) -> str:
    """Return the text of openshift_request_irule, for virtual servers with an http profile.

    A request for another pool than the one before it on its connection gets a server side of its own:
    LB::detach, then the pool that its rule set f5router_pool to. A request that no rule matched
    (f5router_unmatched) goes to the virtual server's own pool, or to openshift_nowhere, where LB_FAILED
    comes. After a rule that sets no variable only LB::detach is done: what was chosen for the request
    counts. The first request of a connection, and one for the same pool, are left alone, so that the
    server side is kept.
    Sources: DevCentral 276984 (connections are balanced, not requests; LB::detach before another choice);
    K16590 (policies act first); F5's cf-bigip-ctlr v1.1 routes every request by a variable of a rule.

    A request whose rule set f5router_wildcard to a domain with a dot before it is refused unless its
    Host has exactly one label there: a condition of a policy cannot express that. Where the rule set
    f5router_redirect too, the answer is a redirect to the same name, path and query over TLS; a rule
    that redirects by itself would do so for every Host that ends in the domain. Source:
    bigip-behaviour.md B11
    (the policy acts first, for every request).

    A client stays with its pod by the record of the pool in openshift_persistence_dg: its address (see
    passthrough_irule), or a session cookie that the BIG-IP inserts and reads (persist cookie insert), for
    which cookie_irule sets f5router_cookies. A cookie of names.INSECURE_VARIABLE, or without TLS
    (f5router_https), has neither Secure nor SameSite. A cookie counts where a pod is chosen: not for a later
    request that stays with the server side of the one before it, which is that pod already.
    Sources: clouddocs, persist and md5; tmsh reference, ltm persistence cookie (match-across-pools: without
    it only members of the pool count); K6917. Inferred: that it needs no persistence profile.

    STRIPPED_HEADERS are removed from every request, before iRules of another priority run, so that what
    an administrator's iRule sets comes to the pods. One iRule may have two handlers of an event (tmsh
    reference, ltm rule command priority, has an example); a header that stands twice is listed twice
    (clouddocs, HTTP::header).

    A connection that began before reencrypt_irule was there (f5router_tls) is rejected when it comes to a
    pool with a record in ssl_reencrypt_serverssl_dg; so is one from before limits_irule (f5router_limits)
    when it comes to a pool whose name ends in names.LIMITED.

    Args:
        folder: full path of the folder that holds openshift_nowhere and the data-group.
        page: the answer to a name that is refused; True for the built-in page, False for a reset. Where
            the page cannot be sent, as after an answer of another iRule, it is a reset too: nobody's
            request must reach the pods.
        persistence: how clients of pools without a record stay with a pod: data of such a record.
        cookie: name of the session cookie; "" for a hash of the full path of the pool.
        proxied: True if a connection without a header of the PROXY protocol has no requests.
        gateways: True if there may be Rules that set f5router_stay.
    Raises: ValueError: folder is not a plain full path, or cookie no name of a cookie.
    """
    answer = pages.respond(page if isinstance(page, ErrorPage) else None)
    return _text("openshift_request_irule.tcl", folder, pages.OR_RESET.format(answer) if page else "reject",
                 persistence=persistence, cookie=route_options.parse_cookie_name(cookie) if cookie else "",
                 proxied=proxied, gateways=gateways)


def headers_irule(folder: str, *, forwarded: str, sets_variables: bool = True, request: Iterable[str] = (),
                  response: Iterable[str] = (), with_id: UniqueID | None = None, hsts: str = "",
                  gateways: bool = False) -> str:
    """Return the text of openshift_headers_irule, for virtual servers with an http profile.

    Records of openshift_http_dg: a digest with what http_options.encode gives. HTTP_RESPONSE is the event
    of a pod's response; answers of the BIG-IP, such as redirects and the 503 page, do not pass it. Sources:
    clouddocs, HTTP_RESPONSE, HTTP::header (names are not case-sensitive); haproxy-config.template
    (http-response set-header, which answers of HAProxy do not pass either).

    Headers that tell pods of the client are set in HTTP_REQUEST, after a policy has chosen the pool and
    request_irule has set f5router_route. Where Rules set no variable, no request is known to be another's.
    Sources: haproxy-config.template (setForwardedHeadersPattern); RFC 7239; clouddocs, TCP::local_port,
    IP::client_addr (with the route domain, if it has one).

    Args:
        folder: full path of the folder that holds the data-group.
        forwarded: one of route_options.FORWARDED_POLICIES, for requests whose record names none.
        sets_variables: True if Rules can.
        request, response: actions of the router on all requests and responses, as header_actions encodes
            them. In requests they come before those of the Route, in responses behind: HAProxy's frontend
            has the former, and its backend the latter.
        with_id: the header with the ID of a request; None for none.
        hsts: Strict-Transport-Security where neither the Route nor the pod sets it; "" for none.
        gateways: True if there may be HTTPRoutes, whose records may have answers.
    Raises: ValueError: folder is not a plain full path, or an action or a piece has an unknown form.
    """
    actions = [action for side in (request, response) for action in side]
    if unknown := [action for action in actions if not headers.ACTION.fullmatch(action)]:
        raise ValueError(f"{unknown=}")
    text = _text("openshift_headers_irule.tcl", folder, gateways=gateways)
    text = text.replace("@REQUEST@", "/".join(request)).replace("@RESPONSE@", "/".join(response))
    text = text.replace("@UNIQUE_ID@", headers.id_commands(with_id))
    text = text.replace("@HSTS@\n", headers.hsts_commands(hsts))
    return text.replace("@FORWARDED@", forwarded).replace("@ROUTE@", "0" if sets_variables else "1")


def limits_irule(folder: str) -> str:
    """Return the text of openshift_limits_irule, for virtual servers with Routes that limit their clients.

    Records of openshift_limits_dg: a pool's full path with what route_options.encode_limits gives. A pool
    whose name ends in names.LIMITED fails closed. The other limits fail open: they keep load from pods, not
    strangers. An error of the check is logged at most once in ten minutes for each TMM.

    LB_SELECTED is the event in which the pool is known on every TMOS version, however it was chosen: by a
    policy, by passthrough_irule, by LB::reselect. It comes before the pod is connected to, and again whenever
    a request is balanced anew: after LB::detach and, with a OneConnect profile, for every request. A later
    request that stays with the server side of the one before it has the same client and the same pool.
    The client's address is looked up there without its route domain and,
    if that fails, with it: which of the two a record has is not documented for partitions with a default
    route domain.

    Requests are counted when their pod is chosen, else in HTTP_REQUEST_SEND, an event before each request
    to a pod. `table` suspends the iRule, and each of its calls is atomic. Its refusals of events include
    only RULE_INIT. An entry's lifetime, unlike its timeout, does not begin anew when it is read or counted.
    Sources: clouddocs, LB::server, IP::client_addr, class match, table; DevCentral, "The table Command" and
    "Connection Limiting Take 2"; bigip-behaviour.md B5, B6 and B11. Inferred, not seen on a device: that
    `reject` takes effect in LB_SELECTED and HTTP_REQUEST_SEND, and that LB_SELECTED comes for each request
    with OneConnect.

    Args: folder: full path of the folder that holds the data-groups and our pools.
    Raises: ValueError: folder is not a plain full path.
    """
    return _text("openshift_limits_irule.tcl", folder)


@functools.lru_cache(maxsize=64)
def _text(name: str, folder: str, refuse: str = "", *, respond: str = "", source: bool = False,
          persistence: str = "", cookie: str = "", proxied: bool = False, strict: bool = False,
          any_depth: bool = False, gateways: bool = False) -> str:
    if not _FOLDER.fullmatch(folder):
        raise ValueError(f"{folder=} is not a full path of letters, digits and _ . -")
    text = tls_commands.fill(_file(name), read=_file("proxy_protocol.tcl"), proxied=proxied)
    text = text.replace("@REFUSE@", refuse).replace("@RESPOND@", respond)
    for mark, commands in (("@COUNT@", _COUNT), ("@CLIENT@", _CLIENT), ("@RELEASE@", _RELEASE),
                           ("@UNCOUNTED@", _UNCOUNTED)):
        text = text.replace(mark, commands)
    for mark, commands, wanted in (
            ("@STRICT@\n", tls_commands.LOOK_UP, strict), ("@REFUSED@\n", tls_commands.REFUSE, strict),
            ("@ANY_DEPTH@\n", tls_commands.ANY_DEPTH, any_depth),
            ("@EVERY@\n", tls_commands.EVERY, any_depth), ("@ENDED@\n", tls_commands.ENDED, any_depth)):
        text = text.replace(mark, commands if wanted else "")
    text = tls_commands.lead(text, ended=any_depth)
    text = text.replace("@LEASE_S@", str(LEASE_S))
    text = text.replace("@HEADERS@", " ".join(STRIPPED_HEADERS))
    text = text.replace("@SOURCE@", names.SOURCE if source else names.NO_PERSISTENCE)
    text = text.replace("@PERSISTENCE@", persistence)
    text = text.replace("@SOURCE_S@", str(SOURCE_S)).replace("@WARN@", _WARN)
    text = text.replace("@COOKIE@", cookie).replace("@SAME_SITE@", route_options.DEFAULT_SAME_SITE)
    text = text.replace("@VALUE@", _COOKIE_VALUE)
    text = headers.fill(text, replies=_file("gateway_replies.tcl") if gateways else "")
    return text.replace("@PAGE@", _file("unavailable.html")).replace("@FOLDER@", folder).strip()


def _file(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="ascii")

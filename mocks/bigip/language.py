"""Commands that TMM's Tcl has and has not, and the names of TMM's own commands and events.

Source: 378 rules tried on a BIG-IP 21.1.0.1 (bitwisecook/tcl-lsp, "BIG-IP iRule parser measurements";
bigip-behaviour.md B5): a core of Tcl 8.4.6; 31 of its commands are disabled, `DISABLED`; a literal command
that TMM does not know refuses the rule, also inside `catch`. Names: clouddocs.f5.com/api/irules, as listed
in the registry of the same project.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TCL = _names(
    """
    after append array binary break case catch clock close concat continue encoding error eval expr fileevent
    for foreach format global if incr info join lappend lindex linsert list llength lrange lreplace lsearch
    lset lsort proc puts read regexp regsub return scan set split string subst switch trace unset uplevel
    upvar variable while
    """
)
"""Commands of Tcl 8.4 that TMM has."""

DISABLED = _names(
    """
    auto_execok auto_import auto_load auto_qualify cd eof exec exit fblocked fconfigure fcopy file flush gets
    glob interp load namespace open package pid pwd rename seek socket source tell time unknown update vwait
    """
)
"""Commands of Tcl 8.4 that TMM refuses."""

NEWER = _names(
    "apply chan coroutine dict lassign lmap lrepeat lreverse tailcall throw try unload yield yieldto zlib"
)
"""Commands of Tcl 8.5 and 8.6. Source: their release notes, and the measurements."""

ARGUMENTS: dict[str, tuple[str, int, int | None]] = {
    "append": ("append varName ?value value ...?", 1, None),
    "catch": ("catch command ?varName?", 1, 2),
    "expr": ("expr arg ?arg ...?", 1, None),
    "for": ("for start test next command", 4, 4),
    "foreach": ("foreach varList list ?varList list ...? command", 3, None),
    "incr": ("incr varName ?increment?", 1, 2),
    "lindex": ("lindex list ?index...?", 1, None),
    "llength": ("llength list", 1, 1),
    "set": ("set varName ?newValue?", 1, 2),
    "string": ("string option arg ?arg ...?", 2, None),
    "switch": ("switch ?switches? string pattern body ... ?default body?", 2, None),
    "while": ("while test command", 2, 2),
}
"""Words of the message of Tcl 8.4, fewest and most arguments of commands for which TMM counts them when the
rule is written (append, expr, incr, lindex, llength, set, string, while measured; the others inferred)."""

NEWER_SUBCOMMANDS = {
    "string": _names("reverse cat insert"),
    "info": _names("frame coroutine class object errorstack"),
    "binary": _names("encode decode"),
    "clock": _names("add milliseconds microseconds"),
    "string is": _names("wideinteger list entier dict"),
}

NEWER_OPTIONS = {
    "switch": _names("-matchvar -indexvar -nocase"),
    "lsort": _names("-stride -indices -nocase"),
    "lsearch": _names("-index -subindices -nocase -bisect"),
    "return": _names("-options -level"),
}

TABLE = {
    "set": _names("-notouch -mustexist -excl"),
    "add": _names("-notouch"),
    "replace": _names("-notouch"),
    "lookup": _names("-notouch"),
    "incr": _names("-notouch -mustexist"),
    "append": _names("-notouch -mustexist"),
    "delete": _names("-all"),
    "timeout": _names("-remaining"),
    "lifetime": _names("-remaining"),
    "keys": _names("-notouch -count"),
}
"""Subcommands of `table` with their options, besides -subtable NAME and -- (tmsh reference, ltm rule command
table)."""

SCAN_TYPES = frozenset("aAbBhHcsSiIwWfdxX@")
"""Field types of `binary scan` and `binary format` in 8.4. Those of 8.5 are not known, nor is the flag u."""

FUNCTIONS = _names(
    """
    abs acos asin atan atan2 ceil cos cosh double exp floor fmod hypot int log log10 pow rand round sin sinh
    sqrt srand tan tanh wide
    """
)
"""Functions of expressions in 8.4; TMM refuses others when the rule is written."""

NEWER_FUNCTIONS = _names("bool entier isqrt max min")

OPERATORS = _names("equals contains starts_with ends_with matches matches_glob matches_regex and or not")
"""Words that TMM added to expressions."""

TMM = _names(
    """
    active_members active_nodes b64decode b64encode call class client_addr client_port clientside clone
    connect cpu crc32 decode_uri discard domain drop event fasthash findclass findstr forward getfield htonl
    htons http_cookie http_header http_host http_method http_uri http_version ifile imid ip_protocol ip_tos
    ip_ttl lasthop link_qos listen llookup local_addr log matchclass md4 md5 members nexthop node nodes ntohl
    ntohs peer persist pool radius_authenticate rateclass recv redirect reject relate_client relate_server
    remote_addr rmd160 send server_addr server_port serverside session sha1 sha256 sha384 sha512 sharedvar
    snat snatpool substr table tcpdump traffic_group translate urlcatblindquery urlcatquery use virtual
    vlan_id whereis
    """
)
"""Commands without a namespace. `when`, `priority` and `timing` stand outside of events only."""

NAMESPACES = {
    "HTTP": _names(
        """
        close collect cookie disable enable fallback has_responded header host hsts is_keepalive is_redirect
        method passthrough_reason password path payload proxy query redirect reject_reason release request
        request_num respond response retry status uri username version
        """
    ),
    "IP": _names(
        """
        addr client_addr hops idle_timeout ingress_drop_rate ingress_rate_limit intelligence local_addr
        protocol remote_addr reputation server_addr stats tos ttl version
        """
    ),
    "LB": _names(
        """
        bias class command connect connlimit context_id detach down dst_tag enable_decisionlog mode persist
        prime queue reselect select server snat src_tag status up
        """
    ),
    "SSL": _names(
        """
        allow_dynamic_record_sizing allow_nonssl alpn authenticate c3d cert cert_constraint cipher
        clientrandom collect disable enable extensions forward_proxy handshake is_renegotiation_secure
        maximum_record_size mode modssl_sessionid_headers nextproto payload profile release renegotiate
        respond secure_renegotiation session sessionid sessionsecret sessionticket sni tls13_secret
        unclean_shutdown verify_result
        """
    ),
    "TCP": _names(
        """
        abc analytics autowin bandwidth client_port close collect congestion delayed_ack dsack earlyrxmit ecn
        enhanced_loss_recovery idletime keepalive limxmit local_port lossfilter lossfilterburst lossfilterrate
        mss nagle naglemode naglestate notify offset option pacing payload proxybuffer proxybufferhigh
        proxybufferlow push_flag rcv_scale rcv_size recvwnd release remote_port respond rexmt_thresh
        rt_metrics_timeout rto rtt rttvar sendbuf server_port setmss snd_cwnd snd_scale snd_ssthresh snd_wnd
        unused_port
        """
    ),
    "URI": _names("basename compare decode encode host path port protocol query"),
}
"""Commands of the namespaces that are listed completely."""

OTHER_NAMESPACES = _names(
    """
    AAA ACCESS ACCESS2 ACL ADAPT AES AM ANTIFRAUD ASM ASN1 AUTH AVR BIGPROTO BIGTCP BOTDEFENSE BWC CACHE
    CATEGORY CLASSIFICATION CLASSIFY COMPRESS CONNECTOR CRYPTO DATAGRAM DEMANGLE DHCP DIAMETER DNS DNSMSG
    DOSL7 DSLITE ECA FIX FLOW FLOWTABLE FTP GENERICMESSAGE GTP HA HSL HTML HTTP2 HTTPLOG ICAP IKE ILX IMAP
    IPFIX ISESSION ISTATS IVS_ENTRY JSON L7CHECK LDAP LINE LINK LSN MESSAGE MQTT MR NAME NSH NTLM OFFBOX
    ONECONNECT PCP PEM PLUGIN POLICY POP3 PROFILE PROTOCOL_INSPECTION PSC PSM QOE RADIUS RESOLV RESOLVER REST
    REWRITE ROUTE RTSP SCTP SDP SIP SIPALG SMTPS SOCKS SSE STATS STREAM TAP TDS TMM UDP VALIDATE VDI WAM
    WEBSSO WS X509 XLAT XML
    """
)
"""Groups whose commands are all taken for known."""

EVENTS = _names(
    """
    RULE_INIT PERSIST_DOWN FLOW_INIT
    CLIENT_ACCEPTED CLIENT_DATA CLIENT_CLOSED SERVER_INIT SERVER_CONNECTED SERVER_DATA SERVER_CLOSED
    LB_SELECTED LB_FAILED LB_QUEUED SA_PICKED NAME_RESOLVED USER_REQUEST USER_RESPONSE
    HTTP_REQUEST HTTP_REQUEST_DATA HTTP_REQUEST_SEND HTTP_REQUEST_RELEASE HTTP_RESPONSE HTTP_RESPONSE_DATA
    HTTP_RESPONSE_CONTINUE HTTP_RESPONSE_RELEASE HTTP_DISABLED HTTP_REJECT HTTP_PROXY_REQUEST
    HTTP_PROXY_CONNECT HTTP_PROXY_RESPONSE HTTP_CLASS_FAILED HTTP_CLASS_SELECTED
    PING_REQUEST_READY PING_RESPONSE_READY
    CLIENTSSL_CLIENTHELLO CLIENTSSL_CLIENTCERT CLIENTSSL_HANDSHAKE CLIENTSSL_SERVERHELLO_SEND CLIENTSSL_DATA
    CLIENTSSL_PASSTHROUGH SERVERSSL_CLIENTHELLO_SEND SERVERSSL_SERVERHELLO SERVERSSL_SERVERCERT
    SERVERSSL_HANDSHAKE SERVERSSL_DATA
    DNS_REQUEST DNS_RESPONSE SIP_REQUEST SIP_REQUEST_SEND SIP_REQUEST_DONE SIP_RESPONSE SIP_RESPONSE_SEND
    SIP_RESPONSE_DONE RTSP_REQUEST RTSP_REQUEST_DATA RTSP_RESPONSE RTSP_RESPONSE_DATA
    WS_REQUEST WS_RESPONSE WS_CLIENT_FRAME WS_SERVER_FRAME WS_CLIENT_FRAME_DONE WS_SERVER_FRAME_DONE
    WS_CLIENT_DATA WS_SERVER_DATA
    AUTH_RESULT AUTH_ERROR AUTH_FAILURE AUTH_SUCCESS AUTH_WANTCREDENTIAL
    ACCESS_ACL_ALLOWED ACCESS_ACL_DENIED ACCESS_POLICY_AGENT_EVENT ACCESS_POLICY_COMPLETED
    ACCESS_SESSION_CLOSED ACCESS_SESSION_STARTED ACCESS_PER_REQUEST_AGENT_EVENT ACCESS_SAML_AUTHN
    ACCESS_SAML_ASSERTION ACCESS_SAML_SLO_REQ ACCESS_SAML_SLO_RESP ACCESS2_POLICY_EXPRESSION_EVAL
    EPI_NA_CHECK_HTTP_REQUEST
    ASM_REQUEST_DONE ASM_REQUEST_VIOLATION ASM_REQUEST_BLOCKING ASM_RESPONSE_VIOLATION ASM_RESPONSE_LOGIN
    BOTDEFENSE_REQUEST BOTDEFENSE_ACTION ANTIFRAUD_LOGIN ANTIFRAUD_ALERT IN_DOSL7_ATTACK
    CLASSIFICATION_DETECTED QOE_PARSE_DONE STREAM_MATCHED CATEGORY_MATCHED PROTOCOL_INSPECTION_MATCH
    HTML_COMMENT_MATCHED HTML_TAG_MATCHED XML_CONTENT_BASED_ROUTING XML_BEGIN_DOCUMENT XML_BEGIN_ELEMENT
    XML_CDATA XML_END_DOCUMENT XML_END_ELEMENT XML_EVENT
    JSON_REQUEST JSON_REQUEST_MISSING JSON_REQUEST_ERROR JSON_RESPONSE JSON_RESPONSE_MISSING
    JSON_RESPONSE_ERROR SSE_RESPONSE
    CACHE_REQUEST CACHE_RESPONSE CACHE_UPDATE REWRITE_REQUEST REWRITE_REQUEST_DONE REWRITE_RESPONSE
    REWRITE_RESPONSE_DONE ICAP_REQUEST ICAP_RESPONSE ADAPT_REQUEST_RESULT ADAPT_REQUEST_HEADERS
    ADAPT_RESPONSE_RESULT ADAPT_RESPONSE_HEADERS AVR_CSPM_INJECTION
    FIX_HEADER FIX_MESSAGE DIAMETER_INGRESS DIAMETER_EGRESS DIAMETER_RETRANSMISSION
    MQTT_CLIENT_INGRESS MQTT_CLIENT_DATA MQTT_CLIENT_EGRESS MQTT_CLIENT_SHUTDOWN MQTT_SERVER_INGRESS
    MQTT_SERVER_DATA MQTT_SERVER_EGRESS GENERICMESSAGE_INGRESS GENERICMESSAGE_EGRESS MR_INGRESS MR_EGRESS
    MR_FAILED MR_DATA GTP_GPDU_INGRESS GTP_GPDU_EGRESS GTP_PRIME_INGRESS GTP_PRIME_EGRESS
    GTP_SIGNALLING_INGRESS GTP_SIGNALLING_EGRESS RADIUS_AAA_AUTH_REQUEST RADIUS_AAA_AUTH_RESPONSE
    RADIUS_AAA_ACCT_REQUEST RADIUS_AAA_ACCT_RESPONSE PCP_REQUEST PCP_RESPONSE SOCKS_REQUEST TDS_REQUEST
    TDS_RESPONSE IVS_ENTRY_REQUEST IVS_ENTRY_RESPONSE L7CHECK_CLIENT_DATA L7CHECK_SERVER_DATA
    PEM_POLICY PEM_SUBS_SESS_CREATED PEM_SUBS_SESS_UPDATED PEM_SUBS_SESS_DELETED
    ECA_REQUEST_ALLOWED ECA_REQUEST_DENIED TAP_REQUEST CONNECTOR_OPEN
    """
)

_BEFORE_HTTP = _names("CLIENT_ACCEPTED CLIENT_DATA CLIENT_CLOSED")
_REQUEST = _BEFORE_HTTP | {"HTTP_RESPONSE"}
_ANSWER = _BEFORE_HTTP | {"LB_SELECTED", "SERVER_CONNECTED"}
_INIT = frozenset({"RULE_INIT"})

NOT_IN = {
    "HTTP::uri": _REQUEST,
    "HTTP::host": _REQUEST,
    "HTTP::path": _REQUEST,
    "HTTP::query": _REQUEST,
    "HTTP::method": _REQUEST,
    "HTTP::respond": _ANSWER,
    "HTTP::redirect": _ANSWER,
    "HTTP::status": _BEFORE_HTTP | {"HTTP_REQUEST", "SERVER_CONNECTED"},
    "HTTP::collect": _BEFORE_HTTP | {"SERVER_CONNECTED"},
    "SSL::cipher": _BEFORE_HTTP | _INIT | {"SERVER_CONNECTED"},
    "IP::client_addr": _INIT,
    "IP::server_addr": _INIT,
    "TCP::client_port": _INIT,
    "LB::server": _INIT,
    "pool": _INIT,
    "node": _INIT,
    "table": _INIT,
}
"""Events in which a command is refused. Measured for uri, respond, status, collect, cipher and the last
seven, in 8 events; host, path, query, method and redirect as uri and respond (inferred)."""

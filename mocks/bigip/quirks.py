"""Behaviours that differ between versions, or that no source describes: each can be switched on.

A client has to be right with any of them. bigip-behaviour.md A10 and B12 list what is unsure.
"""

from __future__ import annotations

import enum

from mocks.bigip.versions import Version


class Quirk(enum.StrEnum):
    """Name and meaning of a switch; the comment gives the source."""

    SUB_POST_404 = "sub-post-404"
    """POST of a policy to a virtual server or of a member to a pool is done but answered 404
    `Object not found - x` (bigip-behaviour.md A6; 11.5.4, 12.0, 12.1.0-12.1.1)."""
    PROFILES_POST_404 = "profiles-post-404"
    """The same for a virtual server's `/profiles` (bigip-behaviour.md B12.12: the answer was never
    recorded)."""
    MEMBERS_NEED_PARTITION = "members-need-partition"
    """POST of a member without `partition` is done but answered 404 (bigip-behaviour.md A6; 12.0)."""
    ABSENT_SUB_200 = "absent-sub-200"
    """GET of an absent item of a virtual server's sub-collection is 200 with a stub
    (bigip-behaviour.md B1; 11.6.0)."""
    NESTED_POLICIES_REFERENCE = "nested-policies-reference"
    """GET of a virtual server's `/policies` has its items under `policiesReference`
    (bigip-behaviour.md B7; 11.5)."""
    MEMBER_MAKES_NO_SHARED_NODE = "member-makes-no-shared-node"
    """A member's node in /Common is not made with a member of a pool elsewhere: 404 (not documented)."""
    MONITOR_TRAILING_SPACE = "monitor-trailing-space"
    """A pool's `monitor` is read with a blank at its end (bigip-behaviour.md B3; below 14)."""
    MONITOR_BRACES_REFUSED = "monitor-braces-refused"
    """`min 1 of { ... }` is refused in a written `monitor` (bigip-behaviour.md B12.9)."""
    RULES_MERGED = "rules-merged"
    """PATCH of a policy with `rules` changes and adds these, and leaves the others where they are; F5's SDK
    shows for PUT that the others go (bigip-behaviour.md B4)."""
    HOST_KEEPS_PORT = "host-keeps-port"
    """The condition `httpHost host` compares the Host header with its port (bigip-behaviour.md B12.5)."""
    DRAFT_IN_ROOT = "draft-in-root"
    """The draft of /P/sub/x is /P/Drafts/x instead of /P/sub/Drafts/x (no source for sub-folders)."""
    DRAFT_BLOCKS_DELETE = "draft-blocks-delete"
    """A published policy with a draft cannot be deleted (bigip-behaviour.md B12.3)."""
    FILTER_EXCLUDES_SUBFOLDERS = "filter-excludes-subfolders"
    """`$filter=partition eq P` leaves out objects of sub-folders of P (bigip-behaviour.md A10.4)."""
    FILTER_IGNORED_BY_FDB = "filter-ignored-by-fdb"
    """`$filter` has no effect on net/fdb/tunnel (bigip-behaviour.md A3)."""
    TOP_SKIP_IGNORED = "top-skip-ignored"
    """`$top` and `$skip` have no effect (bigip-behaviour.md A10.5)."""
    EMPTY_ITEMS_ABSENT = "empty-items-absent"
    """An empty collection has no `items` key (bigip-behaviour.md A1; 11.6.0)."""
    CONDITION_POST_UPSERT = "condition-post-upsert"
    """POST of an existing condition or action changes it instead of 409 (bigip-behaviour.md B12.1)."""
    FALSE_FLAGS_REFUSED = "false-flags-refused"
    """A `false` flag in a condition or action is refused (bigip-behaviour.md B12.6)."""
    REDIRECT_CODE_REFUSED = "redirect-code-refused"
    """`code` of a redirect action is refused below 14.0 instead of being ignored
    (bigip-behaviour.md B12.6)."""
    RECORDS_AS_SENT = "records-as-sent"
    """Records of a data-group keep the order in which they were sent (bigip-behaviour.md B6)."""
    RECORD_WITHOUT_DATA = "record-without-data"
    """A record without data is read without the key `data` (bigip-behaviour.md B12.8)."""
    IP_HOST_WITHOUT_MASK = "ip-host-without-mask"
    """A host in an address data-group is read without `/32` (bigip-behaviour.md B12.8)."""
    RECORD_OPTIONS_REFUSED = "record-options-refused"
    """PATCH `?options=records ...` is refused (recorded on 17.1.2.1 only)."""
    BACKSLASHES_DOUBLED = "backslashes-doubled"
    """Backslashes in a record's data are read doubled (bigip-behaviour.md B6)."""
    DUPLICATES_400 = "duplicates-400"
    """A name twice in a sent list of members, records or rules is 400 instead of 409
    (bigip-behaviour.md B12.7)."""
    RM_ONE_PATH = "rm-one-path"
    """`unix-rm` takes all of its arguments for the name of one file (no source gives it several)."""
    INSTALL_ASYNC = "install-async"
    """An installed key or certificate is visible only after some reads (bigip-behaviour.md A7, A10.11)."""
    PUT_VIRTUAL_REFUSED = "put-virtual-refused"
    """PUT of what was read of a virtual server fails (bigip-behaviour.md A2.1; seen from 14 on)."""
    ADDRESS_SHARED_BY_IP = "address-shared-by-ip"
    """A virtual server whose destination is an address of another partition's virtual address takes that one;
    else it is refused by 0107176c (bigip-behaviour.md B12.15)."""
    DESTINATION_READS_NAME = "destination-reads-name"
    """A destination that was written as an address is read with the name of its virtual address, where that
    has another (bigip-behaviour.md B12.15)."""
    MOVE_LEAVES_ADDRESS = "move-leaves-address"
    """A new destination leaves the virtual address of the old one behind (f5devcentral/f5-cccl#45;
    bigip-behaviour.md B12.15)."""
    VLANS_MAY_OVERLAP = "vlans-may-overlap"
    """Virtual servers for one destination conflict only if their sets of VLANs are equal
    (bigip-behaviour.md B12.15)."""
    HTTP_EVENT_01070394 = "http-event-01070394"
    """An iRule whose events need a profile is refused by 01070394 instead of 01071912
    (bigip-behaviour.md B12.16)."""
    MISSING_NAME_404 = "missing-name-404"
    """A pool, iRule, VLAN or SNAT pool in a body that does not exist is a 404 with 01020036 instead of
    01070712 (bigip-behaviour.md B12.16)."""
    LISTENER_GONE_RESETS = "listener-gone-resets"
    """Deleting a virtual server or changing its destination resets its connections (bigip-behaviour.md
    B12.17)."""
    LOGS_OWN_RESPONSES = "logs-own-responses"
    """A request-log profile writes a response line also for what an iRule or a policy answers
    (bigip-behaviour.md B12.17)."""
    METADATA_UNKNOWN = "metadata-unknown"
    """A virtual server has no property `metadata` (bigip-behaviour.md B12.18: seen from 12.1 on)."""
    LOG_TEMPLATE_SHORT = "log-template-short"
    """Templates of a request-log profile above 1,023 characters are refused (bigip-behaviour.md B12.18)."""
    FILE_OF_UNUSED_PROFILE_FREE = "file-of-unused-profile-free"
    """A file of a profile that no virtual server uses may be deleted (bigip-behaviour.md A10.13)."""
    NO_SNI_DEFAULT_ACCEPTED = "no-sni-default-accepted"
    """Several client-ssl profiles without an SNI default are accepted (bigip-behaviour.md B12.2)."""
    INHERITANCE_REFUSED = "inheritance-refused"
    """`inheritCertkeychain` cannot be written: a profile that had a pair keeps one
    (bigip-behaviour.md B12.13)."""
    FDB_ENDPOINT_BARE = "fdb-endpoint-bare"
    """An FDB record's `endpoint` is read without `%0` (bigip-behaviour.md B9: recorded with it on 14.1.4.5
    and 16.1.2)."""
    TUNNEL_ADDRESSES_ANY = "tunnel-addresses-any"
    """Unset addresses of a tunnel are read `any` instead of `any6` (bigip-behaviour.md B9)."""
    ROUTE_NETWORK_TWICE = "route-network-twice"
    """Two routes may lead to one network (not documented; by default the second is refused)."""
    PERCENT_2F_REFUSED = "percent-2f-refused"
    """`%2F` in the id of an object is a 400 (bigip-behaviour.md A10.3: in no recording)."""
    POLICY_POOL_STAYS = "policy-pool-stays"
    """A request that no Rule matches goes where an earlier request of its connection went. So it is for
    the iRule command `pool` (iRules 101 #05); policies are not documented."""
    POOL_SWITCHES_SERVER = "pool-switches-server"
    """Without OneConnect a later request of a connection for which another pool is chosen goes there, as if
    an iRule had called LB::detach (bigip-behaviour.md B11: the pool may change each time; F5's
    documents say the opposite, DevCentral 276984 and k8s-bigip-ctlr#3371)."""
    DETACH_FORGETS_POOL = "detach-forgets-pool"
    """LB::detach drops the pool that a policy has chosen for the request; one chosen after it holds (no
    source; F5's examples call the command `pool` behind it)."""
    REPLY_SKIPS_HTTP_REQUEST = "reply-skips-http-request"
    """HTTP_REQUEST does not run for a request that a policy has answered or redirected (no source)."""
    COLLECT_AGAIN = "collect-again"
    """TCP::collect without a length asks for one CLIENT_DATA; for another it must be called again
    (bigip-behaviour.md B5 has
    CLIENT_DATA for each packet until TCP::release)."""
    SERVER_SSL_AFRESH = "server-ssl-afresh"
    """SSL::disable and SSL::profile of the server side hold for one server-side connection, not for those
    that follow on the same client connection (no source)."""
    SERVER_SSL_LIVE = "server-ssl-live"
    """A connection towards a server is made with the server-ssl profile that the virtual server has at that
    moment, not with the one of when the client connected (no source)."""
    BARE_NAMES = "bare-names"
    """`LB::server pool` and `virtual name` give names without folder (bigip-behaviour.md B5: inferred)."""
    TABLE_FAILS = "table-fails"
    """Every call of the iRule command `table` is an error (no source; a session table without memory)."""
    CHECKING_TAKES_NOTHING = "checking-takes-nothing"
    """A new member gets no traffic before its monitor has found it up (no source)."""
    COOKIE_IN_HTTP_RESPONSE = "cookie-in-http-response"
    """The cookie of persistence is in the response before HTTP_RESPONSE; else it comes between that and
    HTTP_RESPONSE_RELEASE, where F5's own iRules look for it (f5devcentral/irules-toolbox,
    samesite-attributes.tcl)."""
    COOKIE_READ_AGAIN = "cookie-read-again"
    """The cookie of persistence is looked for in the request as iRules left it (no source)."""
    COOKIE_REMOVE_FIRST = "cookie-remove-first"
    """`HTTP::cookie remove` removes one cookie of several with the same name (no source)."""
    HEADER_REMOVE_LAST = "header-remove-last"
    """`HTTP::header remove` removes the last header of several with the same name (no source)."""
    SDN_NOT_LICENSED = "sdn-not-licensed"
    """VXLAN profiles are refused: no SDN Services licence (bigip-behaviour.md B12.11: text unknown)."""


def defaults(version: Version) -> frozenset[Quirk]:
    """The switches that a version has by the recordings."""
    quirks = set()
    if version < (14,):
        quirks.add(Quirk.MONITOR_TRAILING_SPACE)
    if version < (12,):
        quirks.add(Quirk.NESTED_POLICIES_REFERENCE if version < (11, 6) else Quirk.ABSENT_SUB_200)
        quirks.add(Quirk.EMPTY_ITEMS_ABSENT)
    if version[:3] in ((11, 5, 4), (12, 1, 0), (12, 1, 1)):
        quirks.add(Quirk.SUB_POST_404)
    if version[:2] == (12, 0):
        quirks.add(Quirk.MEMBERS_NEED_PARTITION)
    return frozenset(quirks)


def parse(names: frozenset[str] | set[str], version: Version) -> frozenset[Quirk]:
    """Quirks of a version with the named ones; a name with `no-` in front is switched off.

    Raises: ValueError: no such name.
    """
    off = {Quirk(name[3:]) for name in names if name.startswith("no-") and name not in set(Quirk)}
    on = {Quirk(name) for name in names if not name.startswith("no-") or name in set(Quirk)}
    return (defaults(version) | on) - off

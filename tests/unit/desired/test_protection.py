"""Attachments that must be in place on a virtual server before a Rule is."""

from dataclasses import replace

from f5router.desired import protection
from f5router.model import names, tls_names
from f5router.model.client_tls import TLSFiles, TLSKeyPair, TLSSettings
from f5router.model.http_edge import UniqueID
from tests.builders import FACTS, Settings
from tests.rows import rows

BARE = {"forwarded_headers": "never"}
REQUEST, COOKIE, HEADERS, PROXY, PASSTHROUGH, CLIENTS, DEFAULT = (
    names.REQUEST_IRULE, names.COOKIE_IRULE, names.HEADERS_IRULE, names.PROXY_IRULE, names.PASSTHROUGH_IRULE,
    names.CLIENT_CERTIFICATE_IRULE, tls_names.DEFAULT_CLIENTSSL)
NO_FILES, PAIR = TLSFiles(), TLSFiles(default_certificate=TLSKeyPair("cert", "", "key", "public"))


def needed(policy: str, *, version: tuple[int, ...] = FACTS.version, files: TLSFiles = NO_FILES,
           answers: bool = False, certified: bool = False, **settings) -> set[str]:
    """Names of the objects that must be attached, without the policy."""
    facts = replace(FACTS, version=version)
    refs = protection.needs(Settings(**settings), facts, files, policy, answers=answers, certified=certified)
    assert {ref.path.partition("/")[0] for ref in refs} == {""}
    virtual = "https-ose-vserver/" if policy == names.SECURE_POLICY else "/ose-vserver/"
    assert all(virtual in ref.path for ref in refs)
    attached = {ref.path.rpartition("/")[2] for ref in refs}
    assert policy in attached
    return attached - {policy}


@rows(("settings", "http", "https"), [
    (BARE, {REQUEST, COOKIE}, {REQUEST, COOKIE, PASSTHROUGH}),
    ({}, {REQUEST, COOKIE, HEADERS}, {REQUEST, COOKIE, HEADERS, PASSTHROUGH}),
    ({**BARE, "version": (12, 0)}, {REQUEST}, {REQUEST, PASSTHROUGH}),
    ({"version": (12, 0)}, {REQUEST, HEADERS}, {REQUEST, HEADERS, PASSTHROUGH}),
    ({**BARE, "request_actions": ("delete.X",)}, {REQUEST, COOKIE, HEADERS},
     {REQUEST, COOKIE, HEADERS, PASSTHROUGH}),
    ({**BARE, "response_actions": ("delete.X",)}, {REQUEST, COOKIE, HEADERS},
     {REQUEST, COOKIE, HEADERS, PASSTHROUGH}),
    ({**BARE, "unique_id": UniqueID("X-ID", ())}, {REQUEST, COOKIE, HEADERS},
     {REQUEST, COOKIE, HEADERS, PASSTHROUGH}),
    ({**BARE, "proxy_protocol": True}, {REQUEST, COOKIE, PROXY}, {REQUEST, COOKIE, PASSTHROUGH}),
    ({**BARE, "client_tls": TLSSettings(minimum="1.2", maximum="1.3")}, {REQUEST, COOKIE},
     {REQUEST, COOKIE, PASSTHROUGH, DEFAULT}),
    ({**BARE, "client_tls": TLSSettings(client_certificates="optional")}, {REQUEST, COOKIE},
     {REQUEST, COOKIE, PASSTHROUGH, DEFAULT, CLIENTS}),
    ({**BARE, "files": PAIR}, {REQUEST, COOKIE}, {REQUEST, COOKIE, PASSTHROUGH, DEFAULT}),
    ({**BARE, "files": PAIR, "certified": True}, {REQUEST, COOKIE}, {REQUEST, COOKIE, PASSTHROUGH}),
    ({"answers": True}, set(), {PASSTHROUGH}),
    ({"answers": True, "proxy_protocol": True}, {PROXY}, {PASSTHROUGH}),
])
def test_needs(settings, http, https):
    assert needed(names.INSECURE_POLICY, **settings) == http
    assert needed(names.SECURE_POLICY, **settings) == https


def test_rules_share_one_set():
    """10,000 Rules cost no more memory than one."""
    first, second = (protection.needs(Settings(), FACTS, NO_FILES, names.SECURE_POLICY) for _ in range(2))
    assert first is second

"""Attachments that act on all requests of a virtual server: Rules are written once these are in place.

Without one of these objects pods would get what the settings keep from them, or clients more than they allow:
headers that a client forged, TLS of a version that is switched off, a session cookie without Secure.
The table "Shared objects" of docs/security.md has each shared object and what its absence does.
"""

from collections.abc import Iterator

from f5router.desired import baseline, client_tls, headers
from f5router.model import names, tls_names
from f5router.model.client_tls import TLSFiles
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import attachment_ref
from f5router.model.objects import Ref, shared


def needs(config: baseline.BaselineSettings, facts: DeviceFacts, files: TLSFiles, policy: str, *,
          answers: bool = False, certified: bool = False) -> frozenset[Ref]:
    """Return the dependencies of a Rule of a policy; Rules with equal dependencies share one set.

    Args:
        policy: name of the policy.
        answers: True if the policy alone answers the request, by a redirect.
        certified: True if the Host has a certificate of its own.
    """
    virtual = config.https_virtual if policy == names.SECURE_POLICY else config.http_virtual
    assert virtual is not None, "Routes of a virtual server that is not configured have a fault"
    attached = {attachment_ref(virtual, "policies", names.full_path(config.folder, policy))}
    rules = set(_always(config, policy))
    if not answers:
        rules |= set(_towards_pods(config, facts))
    attached |= {attachment_ref(virtual, "rules", names.full_path(config.folder, name)) for name in rules}
    if policy == names.SECURE_POLICY:
        attached |= client_tls.checks(config)
        if config.client_tls or (files.default_certificate and not certified):
            attached.add(attachment_ref(
                virtual, "profiles", names.full_path(config.folder, tls_names.DEFAULT_CLIENTSSL)))
    return shared(frozenset(attached))


def _always(config: baseline.BaselineSettings, policy: str) -> Iterator[str]:
    """Yield the iRules that know the client of a connection, and that it speaks TLS."""
    if policy == names.SECURE_POLICY:
        yield names.PASSTHROUGH_IRULE
    elif config.proxy_protocol:
        yield names.PROXY_IRULE


def _towards_pods(config: baseline.BaselineSettings, facts: DeviceFacts) -> Iterator[str]:
    """Yield the iRules that act on a request before a pod gets it, and on the response."""
    yield names.REQUEST_IRULE
    if headers.are_always_needed(config):
        yield names.HEADERS_IRULE
    if baseline.sets_pool_variable(facts):
        yield names.COOKIE_IRULE

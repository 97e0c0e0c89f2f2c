"""Protection of pods from requests: attachments that Rules wait for, and paths that nobody may get.

Attachments act on all requests of a virtual server; Rules are written once these are in place. Without one of
these objects pods would get what the settings keep from them, or clients more than they allow: headers that
a client forged, TLS of a version that is switched off, a session cookie without Secure. The table "Shared
objects" of docs/security.md has each shared object and what its absence does.

Paths that nobody may get are those of Routes that ask for a protection, where they are not served. Without a
Rule of its own, requests for such a path come to a less specific Route of the host, or of its wildcard,
perhaps to the same pods: a Route / beside a Route /admin that restricts its clients.
"""

from collections.abc import Collection, Iterable, Iterator

from f5router.admission.admission import EvaluatedRoute
from f5router.admission.host_claims import ClaimResult
from f5router.desired import baseline, client_tls, edge, front_ends
from f5router.desired.rules import covers, match_fault
from f5router.model import names, tls_names
from f5router.model.client_tls import TLSFiles
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import own_path
from f5router.model.ltm import Object, Record, attachment_ref
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
    attached = {attachment_ref(virtual, "policies", own_path(config, policy))}
    rules = set(_always(config, policy))
    if not answers:
        rules |= set(_towards_pods(config, facts))
    attached |= {attachment_ref(virtual, "rules", own_path(config, name)) for name in rules}
    if policy == names.SECURE_POLICY:
        attached |= client_tls.checks(config)
        if config.client_tls or (files.default_certificate and not certified):
            attached.add(attachment_ref(
                virtual, "profiles", own_path(config, tls_names.DEFAULT_CLIENTSSL)))
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
    if edge.are_always_needed(config):
        yield names.HEADERS_IRULE
    if baseline.sets_pool_variable(facts):
        yield names.COOKIE_IRULE


def taken_over(config: baseline.BaselineSettings, facts: DeviceFacts) -> frozenset[Ref]:
    """Return our passthrough iRule, for features that the original router's iRule lacks."""
    if not facts.original.irule or config.https_virtual is None:
        return frozenset()
    path = own_path(config, names.PASSTHROUGH_IRULE)
    return frozenset({attachment_ref(config.https_virtual, "rules", path)})


def is_excepted(checked: Iterable[EvaluatedRoute], claims: ClaimResult, record: Object | None) -> bool:
    """True if a Host that wildcards of any depth cover is excepted from them: its TLS is not passed through.

    The wildcard may be another namespace's, and gets nothing of the Host, whatever becomes of its Routes.

    Args: checked: Routes of the Host. record: the passthrough record that they ask for.
    """
    verdicts = (claims.verdicts[each.route.key] for each in checked if each.claims)
    return any(verdict is None or verdict.holder is None for verdict in verdicts) and (
        not isinstance(record, Record) or record.data == names.EXCLUSION)


def open_ports(evaluated: EvaluatedRoute, admitted: Iterable[EvaluatedRoute],
               wildcards: Iterable[EvaluatedRoute], *, secure: bool) -> tuple[bool, bool]:
    """Return if another Route would get the requests for a path, on port 443 and on port 80.

    Args:
        admitted: all Routes of the Host.
        wildcards: those of its wildcard that answer on port 80.
        secure: True if one of its wildcard gets requests on port 443.
    """
    route = evaluated.route
    above = [other for other in admitted if other.route.key != route.key and covers(other.route, route)]
    return (secure or any(other.termination in ("edge", "reencrypt") for other in above),
            any(True for _ in wildcards) or any(other.insecure != "None" for other in above))


def blank_rule(evaluated: EvaluatedRoute, config: baseline.BaselineSettings) -> str:
    """Return why a Route is served on no port at all; "" if it is.

    A virtual server that carries TCP of any kind has the connections of Routes whose TLS is passed through.
    """
    passes = evaluated.termination == "passthrough" and front_ends.tcp_virtual(config) is not None
    if evaluated.termination and config.https_virtual is None and not passes:
        return "--f5-https-vserver is blank: this router serves no Route with TLS"
    if not evaluated.termination and config.http_virtual is None:
        return "--f5-http-vserver is blank: this router serves no unencrypted Route"
    return ""


def device_fault(evaluated: EvaluatedRoute, admitted: Iterable[EvaluatedRoute],
                 config: baseline.BaselineSettings, facts: DeviceFacts) -> str:
    """Return why the virtual servers cannot serve a Route."""
    if fault := (blank_rule(evaluated, config)
                 or edge.reply_fault(evaluated, facts)
                 or match_fault(evaluated.route.match, facts)):
        return fault
    lowest = evaluated.route.minimum_tls
    if not lowest or evaluated.termination not in ("edge", "reencrypt"):
        return ""
    certified = any(c.key_pair or c.awaits_certificate for c in (evaluated, *admitted))
    return client_tls.minimum_fault(config, facts, lowest, certified=certified)


def in_clear_text(route: Route, above: Collection[EvaluatedRoute], around: Collection[EvaluatedRoute],
                  ) -> tuple[bool, EvaluatedRoute | None]:
    """Return if port 80 would redirect requests of a Route that it does not serve, and which Route gets them.

    The most specific Route decides whether a request is redirected. A request that is not redirected goes to
    the most specific Route that serves port 80; without one it gets 503. Source: openshift/router,
    haproxy-config.template since 4.9: os_route_http_redirect.map has every Route, os_http_be.map those that
    serve port 80.

    Args: above, around: Routes of the Host, and of its wildcard, that get them and answer on port 80.
    """
    nearest = max(above, key=_length, default=None)
    redirected = nearest.insecure == "Redirect" if nearest else any(c.insecure == "Redirect" for c in around)
    serving = [c for c in above if c.insecure == "Allow"] or [
        c for c in around if c.insecure == "Allow" and covers(c.route, route)]
    return redirected, max(serving, key=_length, default=None)


def _length(evaluated: EvaluatedRoute) -> tuple[int, Key]:
    """Rank a Route among the Routes that cover its requests; the longest path is the most specific."""
    return len(evaluated.route.path.rstrip("/")), evaluated.route.key

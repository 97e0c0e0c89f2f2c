"""The default backend: one Ingress that gets the requests for hosts which nobody claims.

Its Rules have no condition and come last. Before them, in the closing band, each claimed Host has Rules that
lead nowhere what none of its Routes serves, on both ports and whatever becomes of these Routes: a tenant
without pods, or one who waits for a certificate, never shares requests with the default backend. Rules are
created in the order of their bands and deleted in the reverse one, so that there is no moment without them.
A Host needs none where the rest of its requests comes to no pod, but gets an answer: see `Route.alone`. On a
front end of a Gateway all Hosts are one namespace's, and their routes those of several: there such a Rule
keeps requests from wildcards above, too.
The condition on the end of a name matches at any depth: names of more labels below a wildcard that is claimed
do not come to the default backend either.

Source: Kubernetes, Ingress, "DefaultBackend".
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.host_claims import ClaimResult
from f5router.desired import baseline, front_ends, rules
from f5router.desired.settings import DesiredSettings
from f5router.model import hostnames, names, request_match
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import is_of_gateway, own_path
from f5router.model.ltm import Object, Rule
from f5router.model.objects import Ref

CLOSING = rules.MOST_PATHS + 1
"""Number of the Rule among those of its Route, behind those of paths and of a redirect."""
COVERED = CLOSING + 1
"""Number of the Rule that keeps requests from wildcards of others."""


def on_existing_ports(evaluated: EvaluatedRoute, config: baseline.BaselineSettings) -> EvaluatedRoute:
    """Return the default backend as it is without a virtual server for HTTPS; other Routes as they are."""
    tls = evaluated.route.tls
    if not evaluated.route.default_backend or config.https_virtual is not None or tls is None or (
            front_ends.tcp_virtual(config) is not None):
        return evaluated
    plain = None if tls.insecure_policy == "Allow" else tls
    return replace(evaluated, route=replace(
        evaluated.route, tls=plain, pods_speak_tls=plain is None and tls.termination == "reencrypt"))


def awaiting(closing: Iterable[Rule], checked: Iterable[EvaluatedRoute]) -> frozenset[Ref]:
    """Return the closing Rules whose place depends on Routes that wait: they stay where they are until then.

    Args: checked: the Routes of the Host.
    """
    if not any(each.pending for each in checked):
        return frozenset()
    ends = {names.rule(each.route.key, COVERED) for each in checked}
    return frozenset(rule.ref for rule in closing if rule.name in ends)


def closing_rules(host: str, checked: Iterable[EvaluatedRoute], claims: ClaimResult,
                  objects: Collection[Object], config: DesiredSettings, facts: DeviceFacts) -> Iterator[Rule]:
    """Yield the Rules that keep a claimed Host from the default backend, and from wildcards of others.

    They are those of the oldest Route that holds the Host, served or not. A wildcard of any depth of another
    namespace may be younger than the Host. Then a Rule more comes before those of wildcards, or at the end as
    long as the Host has a Rule for all paths: it is moved there, not deleted, as deletes may be held.

    Args:
        checked: the Routes of the Host.
        objects: of these Routes.
    """
    holding = [each for each in checked if each.claims and each.route.match != request_match.NO_REQUEST
               and not _lost(claims.verdicts[each.route.key])]
    if not holding or host == hostnames.ANY:
        return
    oldest = min(holding, key=lambda each: (each.route.age, each.route.key)).route
    alone = all(each.route.alone for each in holding)
    of_gateway = is_of_gateway(config.front_end) and not alone
    """True if a route, perhaps another namespace's, has a wildcard above, or all Hosts that nobody claims."""
    covered = of_gateway or not claims.around <= {oldest.claim_namespace}
    labels = host.count(".") if host.startswith("*.") else 0
    last = names.priority_band("", labels=labels)
    slot = request_match.slot(oldest.match and request_match.ANY_REQUEST)
    waits = any(each.pending for each in checked)
    for policy, path, known, port in (
            (names.INSECURE_POLICY, config.http_virtual, facts.http, 80),
            (names.SECURE_POLICY, config.https_virtual, facts.https, 443)):
        if path is None:
            continue
        policy, ports = own_path(config, policy), {port, known.port if known else 0} - {0}
        complete = waits or any(isinstance(obj, Rule) and obj.policy == policy and obj.priority_band == last
                       and obj.slot in (0, request_match.PLAIN_SLOT) for obj in objects)
        closing = Rule(policy, names.rule(oldest.key, CLOSING), names.CLOSING_BAND,
                       rules.match_host(host, ports), baseline.nowhere(config.folder, facts),
                       hosts=frozenset({host}), slot=slot,
                       suffix=host[1:] if oldest.wildcard_policy == "Subdomain" else "")
        if config.closes_hosts and not alone and not of_gateway:
            yield closing
        if covered:
            yield replace(closing, name=names.rule(oldest.key, COVERED),
                          priority_band=names.CLOSING_BAND if complete else last)


def _lost(rejection: Rejection | None) -> bool:
    return rejection is not None and rejection.holder is not None

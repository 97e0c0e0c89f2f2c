"""The default backend: one Ingress that gets the requests for hosts which nobody claims.

Its Rules have no condition and come last. Before them, in the closing band, each claimed Host has Rules that
lead nowhere what none of its Routes serves, on both ports and whatever becomes of these Routes: a tenant
without pods, or one who waits for a certificate, never shares requests with the default backend. Rules are
created in the order of their bands and deleted in the reverse one, so that there is no moment without them.
The condition on the end of a name matches at any depth: names of more labels below a wildcard that is claimed
do not come to the default backend either.

Source: Kubernetes, Ingress, "DefaultBackend".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.desired import baseline, rules
from f5router.model import hostnames, names
from f5router.model.cluster import Key
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import own_path
from f5router.model.ltm import Rule
from f5router.model.request_match import PLAIN_SLOT

CLOSING = rules.MOST_PATHS + 1
"""Number of the Rule among those of its Route, behind those of paths and of a redirect."""


def on_existing_ports(evaluated: EvaluatedRoute, config: baseline.BaselineSettings) -> EvaluatedRoute:
    """Return the default backend as it is without a virtual server for HTTPS; other Routes as they are."""
    tls = evaluated.route.tls
    if not evaluated.route.default_backend or config.https_virtual is not None or tls is None:
        return evaluated
    plain = None if tls.insecure_policy == "Allow" else tls
    return replace(evaluated, route=replace(
        evaluated.route, tls=plain, pods_speak_tls=plain is None and tls.termination == "reencrypt"))


def closing_rules(host: str, checked: Iterable[EvaluatedRoute], verdicts: Mapping[Key, Rejection | None],
                  settings: baseline.BaselineSettings, facts: DeviceFacts, *, closes: bool) -> Iterator[Rule]:
    """Yield the Rules that keep a claimed Host from the default backend.

    They are those of the oldest Route that holds the Host, served or not.

    Args:
        checked: the Routes of the Host.
        closes: True if there may be a default backend.
    """
    claims = [each for each in checked if each.claims and not _lost(verdicts[each.route.key])]
    if not closes or not claims or host == hostnames.ANY:
        return
    oldest = min(claims, key=lambda each: (each.route.age, each.route.key)).route
    for policy, path, known, port in (
            (names.INSECURE_POLICY, settings.http_virtual, facts.http, 80),
            (names.SECURE_POLICY, settings.https_virtual, facts.https, 443)):
        if path is not None:
            ports = {port, known.port if known else 0} - {0}
            yield Rule(own_path(settings, policy), names.rule(oldest.key, CLOSING),
                       names.CLOSING_BAND, rules.match_host(host, ports),
                       baseline.nowhere(settings.folder, facts), hosts=frozenset({host}),
                       suffix=host[1:] if host.startswith("*.") else "",
                       slot=0 if oldest.match is None else PLAIN_SLOT)


def _lost(rejection: Rejection | None) -> bool:
    return rejection is not None and rejection.holder is not None

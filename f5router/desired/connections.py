"""Records that lead connections to pods by their server name, without a look at requests in them.

TLS of the client is passed through, or ends on the BIG-IP: with the certificate of the Host, and whatever is
in the connection goes to the pods. The record of such a Host says so. It does not wait for the certificate,
whose profile is attached before: while the BIG-IP refuses that, clients see the default certificate, and
nobody else gets their connections.

Source: kubernetes-sigs/gateway-api v1.6.1, apis/v1/tlsroute_types.go and gateway_types.go: TLSModeTerminate.
"""

from collections.abc import Callable, Iterable

from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.host_claims import ClaimResult
from f5router.desired import baseline, option_objects, protection
from f5router.model import hostnames, names, sni_records
from f5router.model.cluster import Route
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import own_path
from f5router.model.ltm import IRule, Object, Pool, Record, attachment_ref
from f5router.model.objects import Ref
from f5router.model.request_match import NO_REQUEST


def lead(evaluated: EvaluatedRoute, host: str, pool: str, config: baseline.BaselineSettings,
         add: Callable[[Object], Ref]) -> Ref:
    """Build the objects; returns the record by which connections for a Host come to a pool.

    One for any depth, or for TLS that ends here, needs a text of the iRule that knows such records.

    Args: pool: full path; add: takes the objects.
    """
    route, virtual, path = evaluated.route, config.https_virtual, own_path(config, names.PASSTHROUGH_IRULE)
    assert virtual is not None, "Routes with TLS have a fault without it"
    name = sni_records.name_of(host, any_depth=route.wildcard_policy == hostnames.ANY_DEPTH)
    is_ended = evaluated.is_ended and bool(route.service)
    objects, limited = option_objects.client_limits(config, virtual, pool)
    for obj in objects:
        add(obj)
    required = {Ref(Pool.KIND, pool), attachment_ref(virtual, "rules", path), *limited,
                *(add(obj) for obj in needed(route, name, config))}
    required |= {Ref(IRule.KIND, path)} if is_ended or name.startswith("..") else set()
    return add(Record(own_path(config, names.PASSTHROUGH_GROUP), name,
                      f"{names.ENDED if is_ended else ''}{pool}", frozenset(required)))


def needed(route: Route, record: str, config: baseline.BaselineSettings) -> list[Object]:
    """Build the records that the record of a Route needs: with its options, and with its owner.

    Args: record: its name.
    """
    objects = option_objects.of_passthrough(route, record, config)
    if route.origin is not None:
        objects.append(Record(own_path(config, names.OWNER_GROUP), record, names.route(route.key)))
    return objects


def last_record(checked: Iterable[EvaluatedRoute], claims: ClaimResult, wanted: Object | None, name: str,
                config: baseline.BaselineSettings, facts: DeviceFacts, *, passed: bool) -> Record | None:
    """Build the record that a Host has whatever becomes of its Routes; None if it needs no other one.

    It excepts the Host from a wildcard of any depth. Connections without requests are reset before their TLS
    begins, while their Route cannot be served: nothing must look for requests in them.

    Args:
        checked: Routes of the Host.
        wanted: the record that they ask for; name: that of the record.
        passed: True if the wildcard would have its connections.
    """
    checked = tuple(checked)
    if not config.https_virtual:
        return None
    ended = [each for each in checked if each.is_ended]
    serving = [each for each in ended if each.claims and each.route.match != NO_REQUEST]
    if wanted is None and any(_holds(claims.verdicts[each.route.key]) for each in serving):
        pool = names.full_path(config.folder, names.NOWHERE_POOL)
        return Record(own_path(config, names.PASSTHROUGH_GROUP), name, pool,
                      frozenset({Ref(Pool.KIND, pool)}))
    only_shows = len(ended) == len(checked) and not serving
    if not passed or only_shows or not protection.is_excepted(checked, claims, wanted):
        return None
    return Record(own_path(config, names.PASSTHROUGH_GROUP), name, names.EXCLUSION,
                  protection.taken_over(config, facts))


def _holds(verdict: Rejection | None) -> bool:
    return verdict is None or verdict.holder is None

"""BIG-IP objects that the options of a Route need beside its pool and its Rules, and warnings about them."""

from collections.abc import Iterable

from f5router.admission import annotations
from f5router.admission.admission import EvaluatedRoute
from f5router.admission.route_options import APP_ROOT, HEALTH
from f5router.desired import baseline, edge, pool_options, pools, rules
from f5router.desired.pools import PoolSettings
from f5router.model import names, route_options
from f5router.model.cluster import PathMatch, Route
from f5router.model.device_facts import DeviceFacts
from f5router.model.front_end_names import FrontEndPlace, base_name, own_path
from f5router.model.ltm import Condition, Object, Record, Redirect, Rule, record_ref
from f5router.model.objects import Ref
from f5router.model.texts import INVALID_OPTION, OPTION_WITHOUT_EFFECT, UNSUPPORTED_ANNOTATION, Problem
from f5router.network import pool_members


def of_pool(
    evaluated: EvaluatedRoute, pool: str, settings: PoolSettings, config: baseline.BaselineSettings,
) -> list[Object]:
    """Build the monitor of a Route's pool and the records that say which clients may use it, and how."""
    objects: list[Object] = []
    if monitor := pool_options.monitors_of_pool(config, settings.check, settings.check_interval_s,
                                                settings.tls_profile):
        objects.append(monitor)
    objects += pool_options.limits_records(config, pool, evaluated.route.options)
    default = pools.shared(config.balancing)
    options = evaluated.route.options
    if evaluated.termination != "passthrough" and not options.unbound_by_rules and (
            pool_options.needs_persistence_record(options, settings.persistence, default.persistence)):
        objects.append(pool_options.persistence_record(config, pool, settings.persistence))
    return objects


def of_passthrough(route: Route, record: str, config: baseline.BaselineSettings) -> list[Object]:
    """Build the record for `balance` of a passthrough Route, if it differs from the router's default.

    Args: record: name of the Route's record in the data-group of passthrough Routes.
    """
    wanted = pools.algorithm(route, "passthrough", config.balancing) == "source"
    if wanted == (config.balancing.of("passthrough") == "source"):
        return []
    return [pool_options.persistence_record(config, record,
                                            names.SOURCE if wanted else names.NO_PERSISTENCE)]


def timeouts(evaluated: EvaluatedRoute, pool: str, config: baseline.BaselineSettings) -> list[Object]:
    """Build the record with the time-outs of a Route, if it has any, and the iRule that reads it."""
    response_s, tunnel_s = pools.timeouts(evaluated.route.options, evaluated.termination)
    if not response_s and not tunnel_s:
        return []
    group = own_path(config, names.TIMEOUT_GROUP)
    return [Record(group, pool, f"{response_s}/{tunnel_s}"), *baseline.timeouts(config)]


def client_limits(config: FrontEndPlace, virtual: str, pool: str) -> tuple[list[Object], frozenset[Ref]]:
    """Build the objects that enforce the limits of a pool on a virtual server.

    Returns: the objects, and all that must be in place before requests are sent to the pool.
    """
    if not names.limits_clients(pool):
        return [], frozenset()
    objects = pool_options.limits_irule(config, virtual)
    record = record_ref(own_path(config, names.LIMITS_GROUP), pool)
    return objects, frozenset({record, *(obj.ref for obj in objects)})


def app_root(evaluated: EvaluatedRoute, admitted: Iterable[EvaluatedRoute], policy: str,
             host: frozenset[Condition], required: frozenset[Ref],
             protection: frozenset[Ref]) -> list[Object]:
    """Build the Rule that redirects the path / of a Route which is served there, if it asks for that.

    It goes before the Route's own Rules. A Route with the path / takes it from one without a path.

    Args:
        admitted: all Routes of the Host.
        policy: full path.
        host: the condition for the Host.
        required, protection: what the Route's own Rules need.
    """
    route = evaluated.route
    served = base_name(policy) == names.SECURE_POLICY or evaluated.insecure == "Allow"
    if not route.options.app_root or not served or _root_problem(evaluated, admitted):
        return []
    return [Rule(policy, names.rule(route.key, rules.MOST_PATHS), names.priority_band("//"),
                 rules.match_root() | host, Redirect(route.options.app_root),
                 extra_dependencies=required, protection=protection, hosts=frozenset({evaluated.host}))]


def _root_problem(evaluated: EvaluatedRoute, admitted: Iterable[EvaluatedRoute]) -> str:
    """Return why a Route cannot redirect the path / of its Host; "" if it can."""
    route = evaluated.route
    if route.default_backend:
        return "for hosts that nobody claims"
    if evaluated.wildcard or route.path not in ("", "/") or route.path_match is PathMatch.EXACT:
        return "on a Route with a path or a wildcard"
    others = (other.route for other in admitted if other.route.key != route.key and other.route.path == "/")
    yields = any(not route.path or other.path_match is PathMatch.EXACT for other in others)
    return "beside a Route of the host with the path /" if yields else ""


def warnings(evaluated: EvaluatedRoute, admitted: Iterable[EvaluatedRoute], config: baseline.BaselineSettings,
             facts: DeviceFacts) -> list[Problem]:
    """List the options of a Route that have no effect, or a different effect than elsewhere.

    Args: admitted: all Routes of the Host.
    """
    route, termination = evaluated.route, evaluated.termination
    problems = [Problem(INVALID_OPTION, text)
                for text in (*route.option_problems, *pool_members.weight_warnings(route))]
    problems += [Problem(UNSUPPORTED_ANNOTATION, text) for text in annotations.warnings(route.unsupported)]
    texts = []
    if route.options.health and route_options.check_of_path(route.options.health, route.path) is None:
        texts.append(f"metadata.annotations: {HEALTH} has no effect: no path in it is the Route's, or /")
    if route.options.app_root and (problem := _root_problem(evaluated, admitted)):
        texts.append(f"metadata.annotations: {APP_ROOT} has no effect {problem}")
    if route.options.rewrite and route.options.rewrite.needs_path and not route.path:
        texts.append("metadata.annotations: rewrite-target-url has no effect on a Route without a path")
    if pools.ignores_weights(route):
        texts.append("metadata.annotations: least-connections-node has no effect with weights, which it does "
                     "not know; the Services take turns")
    if termination != "passthrough":
        source = pools.algorithm(route, termination, config.balancing) == "source"
        texts += pool_options.persistence_warnings(route.options, source=source, insecure=evaluated.insecure,
                                                   works=baseline.sets_pool_variable(facts),
                                                   cookies=config.balancing.cookies)
        if not baseline.sets_pool_variable(facts):
            texts += edge.header_warnings(route.options, config)
    return [*problems, *(Problem(OPTION_WITHOUT_EFFECT, text) for text in texts)]

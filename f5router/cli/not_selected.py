"""Why nothing on the BIG-IP comes from an object: a setting leaves it out, or there is no such object.

Selectors are applied by the API server, as when the router reads; a class by what converts the objects.
"""

from collections.abc import Iterator

from f5router.cli.survey import Survey
from f5router.kube.api import decode_contour, decode_gateway, decode_ingress, fields
from f5router.kube.watch import kind_states, single_reads
from f5router.kube.watch.sources import (
    GATEWAY_CLASSES,
    GATEWAYS,
    INGRESS_CLASSES,
    NAMESPACES,
    OBJECTS,
    PROJECTS,
    Source,
    choose_served,
)
from f5router.model.cluster import Key
from f5router.model.errors import KubeError, KubeForbidden
from f5router.model.findings import (
    INVALID,
    NOT_SELECTED,
    NOT_YET_READ,
    OBJECT_NOT_FOUND,
    Finding,
    Link,
    finding,
)
from f5router.model.gateway import GATEWAY, ROUTE_KINDS, Gateway, GatewayRoute
from f5router.model.json_types import JSON
from f5router.model.meanings import Effect
from f5router.model.texts import did_you_mean
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.ingresses import Classes
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, ROUTE, origins
from f5router.views import findings

SOURCES = {ROUTE: "routes", INGRESS: "ingress", INGRESS_ROUTE: "ingressroutes",
           **dict.fromkeys(origins(GATEWAY), "gateway")}
"""Words of the setting --sources."""

CLASS_ANNOTATION = "kubernetes.io/ingress.class"

_NO_NAME = "none"


def explain(survey: Survey, kind: str, key: Key) -> Finding:
    """Return why no Route of the router comes from an object. Raises: KubeError: it cannot be read."""
    namespace = survey.config.watch.selection.namespace
    if not any(kind in origins(each) for each in survey.config.watch.sources.kinds):
        return _left_out(not_served(survey, kind))
    if namespace and key.namespace != namespace:
        return _left_out(f"metadata.namespace: {key.namespace}: the router serves only the namespace of "
                         f"--namespace, {namespace}")
    try:
        source = choose_served(survey.connection, OBJECTS[kind])
        if source is None:
            return _left_out(f"the API server serves no {OBJECTS[kind].resource}: there is no {kind}")
        if (obj := single_reads.find_object(survey.connection, source, key)) is None:
            return _not_there(survey, kind, source, key)
        return next(_reasons(survey, kind, source, key, obj))
    except KubeForbidden as exc:
        return _left_out(f"the router may not read {OBJECTS[kind].resource}: {exc}")
    except fields.DecodeError as exc:
        return finding(Link.ROUTE, INVALID, str(exc))


def not_served(survey: Survey, kind: str) -> str:
    """Return why no object of a kind is served that is not among those of the settings."""
    of_gateways = kind in origins(GATEWAY)
    reason = (f"no GatewayClass has spec.controllerName {survey.config.watch.sources.gateways.controller}"
              if of_gateways and survey.lacks_class else f"--sources does not name {SOURCES[kind]}")
    return f"{reason}, so no {kind} is served"


def _left_out(text: str) -> Finding:
    return finding(Link.ROUTE, NOT_SELECTED, text)


def _not_there(survey: Survey, kind: str, source: Source, key: Key) -> Finding:
    """Return that there is no such object, with one of another kind, or of a similar name."""
    for other in SOURCES.keys() - {kind}:
        try:
            served = choose_served(survey.connection, OBJECTS[other])
            exists = served is not None and single_reads.find_object(survey.connection, served,
                                                                     key) is not None
        except KubeError:
            continue  # it may be forbidden, and is only a hint
        if exists:
            return finding(Link.ROUTE, OBJECT_NOT_FOUND, (
                f"{kind} {key} does not exist; {_article(other)} of this name does: see "
                f"`f5router explain {other.lower()} {key}`"))
    near = did_you_mean(key.name, single_reads.object_names(survey.connection, source, key.namespace))
    return finding(Link.ROUTE, OBJECT_NOT_FOUND, f"{kind} {key} does not exist{near}")


def _article(kind: str) -> str:
    return f"a {kind}" if kind == ROUTE else f"an {kind}"


def _reasons(survey: Survey, kind: str, source: Source, key: Key, obj: JSON) -> Iterator[Finding]:
    selection, connection = survey.config.watch.selection, survey.connection
    selectors = kind_states.selectors(survey.config.watch, OBJECTS[kind])
    if (labels := selectors.get("labelSelector")) and single_reads.find_object(
            connection, source, key, {"labelSelector": labels}) is None:
        yield _left_out(f"metadata.labels: {_labels(obj)}: the label selector --labels {labels!r} leaves it "
                        "out")
    if (chosen := selectors.get("fieldSelector")) and single_reads.find_object(
            connection, source, key, {"fieldSelector": chosen}) is None:
        yield _left_out(f"the field selector --fields {chosen!r} leaves it out")
    if selection.by_namespace and not survey.cluster.selects(key.namespace):
        yield _left_out(_of_namespace(survey, key.namespace))
    if kind == INGRESS:
        yield from _of_class(survey, obj)
    elif kind == INGRESS_ROUTE:
        yield from _of_contour_class(survey, obj)
    elif kind == GATEWAY:
        yield _of_gateway_class(survey, decode_gateway.gateway(obj))
    elif kind in ROUTE_KINDS:
        yield _of_parents(survey, source.decode(obj)[0])
    yield from _of_content(survey, kind, key, source, obj)


def of_parts(survey: Survey, kind: str, key: Key, *, effect: Effect | None = None) -> tuple[Finding, ...]:
    """Return why parts of an object become no Route, or have no effect. Args: effect: see of_object."""
    converter = survey.cluster.objects(kind)
    return findings.of_object(converter.condition(key) if converter else (), effect=effect)


def _labels(obj: JSON) -> str:
    labels = fields.mapping(fields.mapping(obj.get("metadata")).get("labels"))
    return ", ".join(f"{name}={fields.text(value)}" for name, value in sorted(labels.items())) or _NO_NAME


def _of_namespace(survey: Survey, name: str) -> str:
    """Return which setting leaves a namespace out, and its labels if they can be read."""
    selection = survey.config.watch.selection
    flag, text, source = (
        ("--project-labels", selection.project_labels, PROJECTS) if selection.project_labels
        else ("--namespace-labels", selection.namespace_labels, NAMESPACES))
    try:
        obj = single_reads.find_object(survey.connection, source, Key("", name))
    except KubeError:
        obj = None
    has = f": it has the labels {_labels(obj)}" if obj else ""
    return f"metadata.namespace: {flag} {text!r} leaves the namespace {name} out{has}"


def _of_class(survey: Survey, obj: JSON) -> Iterator[Finding]:
    """Yield why the class of an Ingress is not one of the router's."""
    ingress, settings = decode_ingress.ingress(obj), survey.config.watch.sources.classes
    try:
        there, classes = single_reads.ingress_classes(survey.connection), Classes(settings)
    except KubeForbidden as exc:
        yield _left_out(f"the router may not read {INGRESS_CLASSES.resource}, so it does not know whose the "
                        f"Ingress is: {exc}")
        return
    classes.apply(there)
    if classes.is_own(ingress):
        return
    name = ingress.class_annotation or ingress.ingress_class
    own = f"this router takes those with spec.controller {settings.controller} (--ingress-controller)"
    if not name:
        yield _left_out("spec.ingressClassName is not set, and no IngressClass of this router is the "
                        f"default; {own}")
        return
    field = f"annotation {CLASS_ANNOTATION}" if ingress.class_annotation else "spec.ingressClassName"
    if ingress.class_annotation:
        own += f", and the annotation {settings.name} (--ingress-class)"
    named = there.get(Key("", name))
    near = did_you_mean(name, (key.name for key in there))
    what = (f"there is no IngressClass {name}{near}" if named is None
            else f"the IngressClass has spec.controller {named.controller or _NO_NAME}")
    yield _left_out(f"{field} is {name}: {what}; {own}")


def _of_contour_class(survey: Survey, obj: JSON) -> Iterator[Finding]:
    """Yield that an IngressRoute is of another class."""
    policy, given = survey.config.watch.sources.ingress_routes, decode_contour.ingress_route(obj)
    if not policy.takes(given):
        wanted = policy.ingress_class or "contour, or none"
        yield _left_out(f"annotation {CLASS_ANNOTATION} is {given.ingress_class or _NO_NAME}: this router "
                        f"takes {wanted} (--ingressroute-class)")


def _of_gateway_class(survey: Survey, gateway: Gateway) -> Finding:
    """Return why a Gateway is not one of the router's: its GatewayClass."""
    controller = survey.config.watch.sources.gateways.controller
    own = f"this router takes those with spec.controllerName {controller} (--gateway-controller)"
    obj, field = None, f"spec.gatewayClassName is {gateway.class_name}"
    try:
        if (source := choose_served(survey.connection, GATEWAY_CLASSES)) is not None:
            obj = single_reads.find_object(survey.connection, source, Key("", gateway.class_name))
    except KubeForbidden as exc:
        return _left_out(f"the router may not read {GATEWAY_CLASSES.resource}: {exc}")
    if obj is None:
        return _left_out(f"{field}: there is no such GatewayClass; {own}")
    named = decode_gateway.gateway_class(obj)
    if named.controller != controller:
        return _left_out(f"{field}: its spec.controllerName is {named.controller or _NO_NAME}; {own}")
    return _left_out(f"{field}: it has a parametersRef, and there are no parameters for this router")


def _of_parents(survey: Survey, route: GatewayRoute) -> Finding:
    """Return why a route is on no Gateway of the router."""
    gateways = Gateways.parents(route)
    for key in gateways:
        source = choose_served(survey.connection, GATEWAYS)
        obj = single_reads.find_object(survey.connection, source, key) if source else None
        if obj is not None:
            why = _of_gateway_class(survey, decode_gateway.gateway(obj)).text
            return _left_out(f"spec.parentRefs: Gateway {key} is not this router's: {why}")
    return _left_out(f"spec.parentRefs: there is no Gateway {', '.join(map(str, gateways))}" if gateways else
                     "spec.parentRefs: none is a Gateway")


def _of_content(survey: Survey, kind: str, key: Key, source: Source, obj: JSON) -> Iterator[Finding]:
    """Yield why an object that is selected becomes no Route, at least one text. Raises: DecodeError."""
    yield from of_parts(survey, kind, key, effect=Effect.LOST)
    if kind == ROUTE:
        source.decode(obj)
        yield finding(Link.ROUTE, NOT_YET_READ,
                      f"{kind} {key} is newer than the list of Routes that was read")
    else:
        yield finding(Link.ROUTE, INVALID, f"spec: no rule or path of this {kind} can become a Route")

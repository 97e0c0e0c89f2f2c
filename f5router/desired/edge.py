"""HTTP between the clients and the BIG-IP: compression of responses, and options that act on headers.

Compression is a profile on each virtual server that has none. Sources: openshift/router,
haproxy-config.template (compression algo gzip, compression type); HAProxy 2.6 configuration manual,
compression; techdocs.f5.com, BIG-IP Local Traffic Management Profiles Reference, HTTP compression profiles.

Options of Routes that act on requests and responses have records, and an iRule that acts on these. A Rule
names its record. Pools have no part in it: Routes with different options may share one.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from f5router.admission.admission import EvaluatedRoute
from f5router.admission.route_options import HAPROXY, HEADERS_FIELD
from f5router.desired import irules
from f5router.desired.irules.groups import own_irule
from f5router.model import http_edge, names, route_options, tmos
from f5router.model.cluster import Route
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.front_end_names import FrontEndPlace, own_path
from f5router.model.http_edge import HTTPEdge, UniqueID
from f5router.model.ltm import Attachment, DataGroup, HTTPCompression, IRule, Object, Record
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions
from f5router.model.texts import Findings


def compression_profiles(config: FrontEndPlace, types: Iterable[str], facts: DeviceFacts) -> list[Object]:
    """Build the profile and its Attachments; a virtual server may have only one such profile."""
    virtuals = [virtual for virtual in _virtuals(facts) if not virtual.compression]
    if not types or not virtuals:
        return []
    path = own_path(config, names.COMPRESSION_PROFILE)
    profile = HTTPCompression(path, frozenset(map(compression_pattern, types)))
    return [profile, *(Attachment(virtual.path, "profiles", profile.path, HTTPCompression.KIND, "all")
                       for virtual in virtuals)]


def compression_pattern(content_type: str) -> str:
    """Return the regular expression for responses whose type begins so.

    F5's documents state neither the kind of regular expressions nor whether they are anchored; in brackets a
    character stands for itself in every kind.
    """
    return "".join(char if char.isalnum() or char in "/-_" else f"[{char}]" for char in content_type)


def compression_findings(types: Iterable[str], facts: DeviceFacts) -> Findings:
    """Report virtual servers that compress in another way than the settings ask for."""
    others = [virtual for virtual in _virtuals(facts) if virtual.compression] if types else []
    return Findings(warnings=tuple(
        f"virtual server {virtual.path} keeps its own HTTP compression profile "
        f"{', '.join(virtual.compression)}: ROUTER_ENABLE_COMPRESSION has no effect there"
        for virtual in others))


def _virtuals(facts: DeviceFacts) -> Iterator[VirtualFacts]:
    return (virtual for virtual in (facts.http, facts.https) if virtual)


class HeaderSettings(FrontEndPlace, Protocol):
    """The part of config.Config that is used here."""

    @property
    def http_virtual(self) -> str | None: ...

    @property
    def https_virtual(self) -> str | None: ...

    @property
    def forwarded_headers(self) -> str:
        """One of route_options.FORWARDED_POLICIES, for Routes without their own."""

    @property
    def request_actions(self) -> tuple[str, ...]:
        """Actions on the headers of all requests, each as header_actions encodes it."""

    @property
    def response_actions(self) -> tuple[str, ...]:
        """Header actions for all responses."""

    @property
    def unique_id(self) -> UniqueID | None:
        """The header with the ID of each request; None for none."""

    @property
    def edge(self) -> HTTPEdge: ...

    @property
    def serves_gateways(self) -> bool:
        """True if HTTPRoutes are served, whose options may answer in place of pods."""


def header_record(config: HeaderSettings, route: Route, *, secure: bool) -> Record | None:
    """Build the record with the options of a Route; None if it needs none.

    Args: secure: True for requests over TLS.
    """
    data = http_edge.encode_options(
        route.options, secure=secure, forwarded=config.forwarded_headers, path=route.path)
    if not data:
        return None
    return Record(own_path(config, names.HTTP_GROUP), http_edge.options_record_name(data), data)


def are_always_needed(config: HeaderSettings) -> bool:
    """True if the settings of the router alone need the iRule."""
    return config.forwarded_headers != route_options.FORWARDED_NEVER or bool(
        config.request_actions or config.response_actions or config.unique_id or config.edge.hsts)


def always(config: HeaderSettings, *, sets_variables: bool) -> list[Object]:
    """Build the iRule with its Attachments if the settings of the router alone need it. Args: as of irule."""
    if not are_always_needed(config):
        return []
    virtuals = [virtual for virtual in (config.http_virtual, config.https_virtual) if virtual]
    return [obj for virtual in virtuals
            for obj in headers_irule(config, virtual, sets_variables=sets_variables)]


def headers_irule(config: HeaderSettings, virtual: str, *, sets_variables: bool) -> list[Object]:
    """Build the iRule with its data-group, and its Attachment to a virtual server.

    It comes after the iRule that recognises TLS. Args: sets_variables: True if Rules can.
    """
    group = DataGroup(own_path(config, names.HTTP_GROUP))
    path = own_path(config, names.HEADERS_IRULE)
    text = irules.headers_irule(
        config.folder, forwarded=config.forwarded_headers, sets_variables=sets_variables,
        request=config.request_actions, response=config.response_actions, with_id=config.unique_id,
        hsts=config.edge.hsts, gateways=config.serves_gateways)
    tls = Ref(IRule.KIND, own_path(config, names.PASSTHROUGH_IRULE))
    return [
        group,
        own_irule(config, path, text, {group.ref}),
        Attachment(virtual, "rules", path, IRule.KIND,
                   extra_dependencies=frozenset({tls} if config.https_virtual else ())),
    ]


def reply_fault(evaluated: EvaluatedRoute, facts: DeviceFacts) -> str:
    """Return why the BIG-IP cannot answer in the place of pods; "" if it can, or need not.

    Likewise, of an HTTPRoute, why it cannot change requests and responses.
    """
    route, options = evaluated.route, evaluated.route.options
    if evaluated.termination == "passthrough" or facts.version >= tmos.SET_VARIABLE_SINCE:
        return ""
    if options.reply:
        return "spec: answers of the BIG-IP itself need TMOS 12.1"
    changes = options.request_actions or options.response_actions or options.rewrite
    return "spec: filters need TMOS 12.1" if route.match is not None and changes else ""


def header_warnings(options: RouteOptions, config: HeaderSettings) -> list[str]:
    """List the options of a Route that have no effect where Rules cannot set variables."""
    own = options.forwarded not in ("", config.forwarded_headers)
    given = {f"{HAPROXY}hsts_header": options.hsts, f"{HAPROXY}set-forwarded-headers": own,
             f"{HAPROXY}rewrite-target": options.rewrite}
    given = {f"metadata.annotations: {key}": value for key, value in given.items()}
    given[HEADERS_FIELD] = options.request_actions or options.response_actions
    return [f"{key} has no effect before TMOS 12.1" for key, value in given.items() if value]

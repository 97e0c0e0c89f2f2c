"""Options of Routes that act on requests and responses: their records, and the iRule that acts on these.

A Rule names its record. Pools have no part in it: Routes with different options may share one.
"""

from typing import Protocol

from f5router.admission import http_headers
from f5router.admission.route_options import HAPROXY
from f5router.desired import irules
from f5router.model import http_edge, names, route_options
from f5router.model.cluster import Route
from f5router.model.http_edge import UniqueID
from f5router.model.ltm import Attachment, DataGroup, IRule, Object, Record
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions


class HeaderSettings(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

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


def record(config: HeaderSettings, route: Route, *, secure: bool) -> Record | None:
    """Build the record with the options of a Route; None if it needs none.

    Args: secure: True for requests over TLS.
    """
    data = http_edge.encode_options(
        route.options, secure=secure, forwarded=config.forwarded_headers, path=route.path)
    if not data:
        return None
    return Record(names.full_path(config.folder, names.HTTP_GROUP), http_edge.options_record_name(data), data)


def are_always_needed(config: HeaderSettings) -> bool:
    """True if the settings of the router alone need the iRule."""
    return config.forwarded_headers != route_options.FORWARDED_NEVER or bool(
        config.request_actions or config.response_actions or config.unique_id)


def always(config: HeaderSettings, *, sets_variables: bool) -> list[Object]:
    """Build the iRule with its Attachments if the settings of the router alone need it. Args: as of irule."""
    if not are_always_needed(config):
        return []
    virtuals = [virtual for virtual in (config.http_virtual, config.https_virtual) if virtual]
    return [obj for virtual in virtuals for obj in irule(config, virtual, sets_variables=sets_variables)]


def irule(config: HeaderSettings, virtual: str, *, sets_variables: bool) -> list[Object]:
    """Build the iRule with its data-group, and its Attachment to a virtual server.

    It comes after the iRule that recognises TLS. Args: sets_variables: True if Rules can.
    """
    group = DataGroup(names.full_path(config.folder, names.HTTP_GROUP))
    path = names.full_path(config.folder, names.HEADERS_IRULE)
    text = irules.headers_irule(
        config.folder, forwarded=config.forwarded_headers, sets_variables=sets_variables,
        request=config.request_actions, response=config.response_actions, with_id=config.unique_id)
    tls = Ref(IRule.KIND, names.full_path(config.folder, names.PASSTHROUGH_IRULE))
    return [
        group,
        IRule(path, text, extra_dependencies=frozenset({group.ref})),
        Attachment(virtual, "rules", path, IRule.KIND,
                   extra_dependencies=frozenset({tls} if config.https_virtual else ())),
    ]


def warnings(options: RouteOptions, config: HeaderSettings) -> list[str]:
    """List the options of a Route that have no effect where Rules cannot set variables."""
    own = options.forwarded not in ("", config.forwarded_headers)
    given = {f"{HAPROXY}hsts_header": options.hsts, f"{HAPROXY}set-forwarded-headers": own,
             f"{HAPROXY}rewrite-target": options.rewrite}
    given = {f"metadata.annotations: {key}": value for key, value in given.items()}
    given[http_headers.FIELD] = options.request_actions or options.response_actions
    return [f"{key} has no effect before TMOS 12.1" for key, value in given.items() if value]

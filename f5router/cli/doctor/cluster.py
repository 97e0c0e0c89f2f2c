"""Checks of the cluster: API server, kinds that it serves, rights, clock."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.utils import parsedate_to_datetime

from f5router.cli.doctor import clocks, fixes, rights
from f5router.cli.doctor.report import FAILURE, Check, Fix, failure, ok, skipped, warning
from f5router.config.config import Config
from f5router.kube.api import fields, review
from f5router.kube.api.connection import Connection
from f5router.kube.watch import watched_kinds
from f5router.kube.watch.kind_states import OPTIONAL
from f5router.kube.watch.sources import Source, choose_served
from f5router.model.errors import KubeError, KubeUnauthorized

AREA = "cluster"
_VERSION, _DISCOVERY = "/version", "/api/v1"
_SERVER = "API server"
_LOGIN = "login"
_KINDS = "kinds"


def check(connection: Connection, config: Config, now: Callable[[], float]) -> Iterator[Check]:
    """Check the API server. Args: now: the time of this machine, in seconds since the epoch."""
    begin = now()
    try:
        version, headers = connection.answer(_VERSION)
        end = now()
        connection.answer(_DISCOVERY)
    except KubeUnauthorized as exc:
        yield failure(AREA, _LOGIN, str(exc), fixes.kube_login(connection.server))
    except KubeError as exc:
        yield failure(AREA, _SERVER, f"{connection.server}: {exc}",
                      fixes.no_api_server(connection.server))
    else:
        name = fields.mapping(version).get("gitVersion")
        yield ok(AREA, _SERVER, f"{connection.server} answers{f', Kubernetes {name}' if name else ''}")
        yield _clock(headers, begin, end)
        yield from _kinds_and_rights(connection, config)
        return
    yield skipped(AREA, ("kinds", "rights", "clock"), "the API server must answer first")


def is_readable(checks: Iterable[Check]) -> bool:
    """True if it is worth waiting for lists: the API server answers, and serves the kinds."""
    return not any(check.state == FAILURE and check.check in (_SERVER, _LOGIN, _KINDS) for check in checks)


def _clock(headers: Mapping[str, str], begin: float, end: float) -> Check:
    try:
        time = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except (TypeError, ValueError):
        return warning(AREA, "clock", "the API server does not show its time", fixes.API_CLOCK_HIDDEN)
    return clocks.compare(AREA, "the API server", time, begin, end, fixes.API_CLOCK)


def _kinds_and_rights(connection: Connection, config: Config) -> Iterator[Check]:
    try:
        served = {source: choose_served(connection, source)
                  for source in watched_kinds.sources(config.watch)}
    except KubeError as exc:
        yield failure(AREA, _KINDS, str(exc), fixes.KINDS)
        yield skipped(AREA, ("rights",), "the kinds must be known first")
        return
    yield from _kinds(config, served)
    yield from _rights(connection, rights.needed(config, functools.partial(_found, served)))


def _found(served: Mapping[Source, Source | None], source: Source) -> Source | None:
    return served.get(source)


def _kinds(config: Config, served: Mapping[Source, Source | None]) -> Iterator[Check]:
    may_be_absent = {*watched_kinds.absentable(config.watch), *OPTIONAL}
    listed = [f"{source.resource} ({source.api_version})" for source in served.values() if source is not None]
    absent = sorted(source.resource for source, choice in served.items()
                    if choice is None and source in may_be_absent)
    more = f"; not served, and not needed: {', '.join(absent)}" if absent else ""
    yield ok(AREA, _KINDS, ", ".join(listed) + more)
    for source, choice in served.items():
        if choice is None and source not in may_be_absent:
            yield failure(AREA, _KINDS, f"{source.resource} are not served by the API server",
                          fixes.not_served(source.resource))


def _rights(connection: Connection, needed: list[rights.Right]) -> Iterator[Check]:
    """Ask for each right; one line for those that are granted."""
    granted, unknown = 0, 0
    for right in needed:
        allowed = is_granted(connection, right)
        granted += allowed is True
        unknown += allowed is None
        if allowed is False:
            make = failure if right.required else warning
            yield make(AREA, "rights", f"may not {right.what}: {right.lacks}",
                       Fix(command=right.fix))
    if unknown:
        yield warning(AREA, "rights", f"{unknown} of {len(needed)} rights are not known: the API server "
                                      "answers no SelfSubjectAccessReview of this account", fixes.REVIEWS)
    elif granted:
        total = "all" if granted == len(needed) else f"{granted} of"
        yield ok(AREA, "rights", f"{total} {len(needed)} rights are granted")


def is_granted(connection: Connection, right: rights.Right) -> bool | None:
    """Return True if the account has a right, or one instead; None if the API server does not answer."""
    answers = [review.may(connection, verb, right.resource, group=right.group, subresource=right.subresource,
                          namespace=right.namespace, name=right.name)
               for verb in (right.verb, right.instead) if verb]
    return None if None in answers else True in answers

"""Checks of what keeps requests from pods now: disabled objects, a missing monitor, Routes that are rejected.

A plan shows none of these: an administrator's changes differ from nothing that the router writes.
"""

import re
from collections import Counter
from collections.abc import Iterator

from f5router.cli import survey as topics
from f5router.cli.doctor import fixes
from f5router.cli.doctor.report import Check, failure, ok, warning
from f5router.cli.survey import Survey
from f5router.icontrol import surroundings
from f5router.model import findings, names
from f5router.model.device_facts import VirtualFacts
from f5router.model.errors import BigIPError
from f5router.model.ltm import Pool

AREA = "service"
VIRTUALS = "virtual servers"
NODES = "LTM nodes"
MONITOR = "monitor"
ROUTES = "Routes"

_PATH = re.compile(r"/[^\s{},]+")
MOST_REASONS = 3
"""Reasons of rejected Routes that are named."""


def check(survey: Survey) -> Iterator[Check]:
    """Check what is there besides our objects; cluster and BIG-IP have been read, and a plan was made."""
    yield from _addresses(survey)
    yield from _disabled_nodes(survey)
    yield from _monitor(survey)
    yield from _rejected(survey)


def disabled(facts: VirtualFacts) -> Check:
    """Return the failure of a virtual server that somebody has disabled."""
    return failure(AREA, VIRTUALS, f"virtual server {facts.path} is disabled: nobody answers there",
                   fixes.of(findings.SERVER_DISABLED, facts.path), findings.SERVER_DISABLED)


def _addresses(survey: Survey) -> Iterator[Check]:
    """Check the virtual addresses of our virtual servers."""
    if problem := survey.read_addresses():
        yield warning(AREA, VIRTUALS, problem, fixes.ADDRESSES)
    facts = survey.device.facts
    servers = {each.disabled_address: each.path for each in (facts.http, facts.https)
               if each is not None and each.disabled_address}
    for path, virtual in sorted(servers.items()):
        yield failure(AREA, VIRTUALS, f"virtual address {path} of {virtual} is disabled: nobody answers "
                                       "there",
                      fixes.of(findings.ADDRESS_DISABLED, path), findings.ADDRESS_DISABLED)


def _disabled_nodes(survey: Survey) -> Iterator[Check]:
    nodes = survey.findings()[topics.DISABLED_NODES]
    for make, texts in ((failure, nodes.problems), (warning, nodes.warnings)):
        for text in texts:
            first = _PATH.search(text)
            yield make(AREA, NODES, text, fixes.of(findings.NODE_DISABLED, first[0] if first else ""),
                       findings.NODE_DISABLED)


def _monitor(survey: Survey) -> Iterator[Check]:
    """Check that the monitor of the settings exists; a pool on the BIG-IP that has it is proof."""
    config = survey.config
    monitors = config.pool_monitor
    if not monitors or config.check_interval_s or any(
            isinstance(obj, Pool) and obj.monitor == monitors for obj in survey.device.observed.values()):
        return
    paths = _PATH.findall(monitors)
    try:
        missing = [path for path in paths if not surroundings.has_monitor(survey.device.client, path)]
    except BigIPError as exc:
        yield warning(AREA, MONITOR, f"monitors cannot be read: {exc.text}",
                      fixes.MONITORS)
        return
    for path in missing:
        yield failure(AREA, MONITOR, f"{path} of --f5-pool-monitor does not exist: the BIG-IP refuses every "
                                     "pool",
                      fixes.of(findings.MONITOR_MISSING), findings.MONITOR_MISSING)
    if not missing:
        yield ok(AREA, MONITOR, f"{', '.join(paths)} of --f5-pool-monitor exists")


def _rejected(survey: Survey) -> Iterator[Check]:
    """Count Routes that are not served for what is in them: each is its team's, whatever their number."""
    engine = survey.reconciler.engine
    rejected = {key: rejection for key in engine.routes()
                if (rejection := engine.rejection(key) or engine.fault_status(key)) is not None}
    if not rejected:
        return
    reasons = Counter(rejection.reason for rejection in rejected.values()).most_common()
    shown = [f"{reason} {count}" for reason, count in reasons[:MOST_REASONS]]
    more = [f"others {sum(count for _, count in reasons[MOST_REASONS:])}"] * (len(reasons) > MOST_REASONS)
    first = min(rejected)
    which = f"{len(rejected)} Route{'s are' if len(rejected) > 1 else ' is'} rejected because of "
    yield warning(
        AREA, ROUTES,
        f"{which}{'their' if len(rejected) > 1 else 'its'} content ({', '.join(shown + more)}): "
        f"{names.label(first, 'Route')}: {rejected[first].message}",
        fixes.of(findings.ROUTES_REJECTED), findings.ROUTES_REJECTED)

"""The command `f5router doctor`."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

from f5router.app.timing import DEFAULT, Timing
from f5router.app.wiring import build_device, settled
from f5router.cli import invocation, terminal
from f5router.cli.doctor import cluster, fixes, report, running, service, units
from f5router.cli.doctor.report import FAILURE, Check, failure, ok, warning
from f5router.cli.survey import Survey
from f5router.config.config import Config, load
from f5router.kube.api.connection import connect
from f5router.model.errors import ConfigError

SETTINGS = "settings"
RETRY_S, REFUSED_S = 2.0, 1.0
"""How long a read is repeated, and a kind waited for that is refused: somebody waits, and can ask again."""


def doctor(flags: Mapping[str, str | None], environ: Mapping[str, str], *, output: str,
           refused_s: float = REFUSED_S, timing: Timing = DEFAULT,
           now: Callable[[], float] = time.time) -> int:
    """Check everything and print the results; returns the exit status: 0, 1 with a failure, 2 for settings.

    Args: now: the time in seconds since the epoch.
    """
    try:
        config = load(flags, environ)
    except ConfigError as exc:
        checks = _wrong(exc)
    else:
        invocation.quieten(config)
        with ExitStack() as stack:
            checks = [*_settings(config), *_all(config, stack, refused_s, timing, now)]
    if output == "json":
        print(report.as_json(checks))
    else:
        console = terminal.console()
        console.print(report.as_text(checks, console.width), soft_wrap=True)
    wrong = any(check.area == SETTINGS and check.state == FAILURE for check in checks)
    return report.exit_status(checks, settings=not wrong)


def _settings(config: Config) -> Iterator[Check]:
    for text in config.warnings:
        yield warning(SETTINGS, "settings", text, fixes.setting(text))
    if not config.warnings:
        yield ok(SETTINGS, "settings", "they fit together")


def _wrong(exc: ConfigError) -> list[Check]:
    return [failure(SETTINGS, "settings", problem, fixes.SETTINGS) for problem in exc.problems]


def _all(config: Config, stack: ExitStack, refused_s: float, timing: Timing,
         now: Callable[[], float]) -> list[Check]:
    """Make all checks that are possible."""
    checks: list[Check] = []
    connection = device = None
    try:
        connection = connect(config.kube)
        config = settled(config, connection)
    except ConfigError as exc:
        checks += _wrong(exc)
    patient = replace(config, bigip=replace(config.bigip, retry_s=min(config.bigip.retry_s, RETRY_S)))
    try:
        device = build_device(patient, stack, timing=timing)
    except ConfigError as exc:
        checks += _wrong(exc)
    # Begun first: the cluster is listed meanwhile.
    survey = Survey(patient, connection, device, stack) if connection and device else None
    of_cluster = list(cluster.check(connection, config, now)) if connection else []
    of_units = [check for number, unit in enumerate(device.pair.units if device else ())
                for check in units.check(unit, config, config.unit_settings(number)[1], now)]
    checks += [*of_cluster, *of_units]
    if survey is not None:
        if cluster.is_readable(of_cluster):
            survey.read_cluster(refused_s if _well(of_cluster) else 0.0)
        if units.is_any_usable(of_units):
            survey.read_device()
        checks += service.check(survey, units_well=_well(of_units), cluster_well=_well(of_cluster))
    return [*checks, *running.check(config)]


def _well(checks: Iterable[Check]) -> bool:
    return all(check.state != FAILURE for check in checks)

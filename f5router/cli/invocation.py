"""Settings, log, errors on standard error, signals and late imports of all commands."""

import contextlib
import gc
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from types import ModuleType

import click

from f5router.cli import settings_command
from f5router.config import parsers
from f5router.config.config import Config, load
from f5router.config.options import OPTIONS
from f5router.logs import log_output
from f5router.model.cluster import Key
from f5router.model.errors import ConfigError
from f5router.model.texts import printable

log = logging.getLogger("f5router")

BAD_SETTINGS = 2
"""Exit status, click's own for wrong usage."""
EPILOG = (
    "Precedence: flag, then environment variable, then default. An empty variable counts as unset. "
    "Durations are written like 5m, 1m30s or 100ms."
)

Flags = Mapping[str, str | tuple[str, ...] | None]
"""Values of flags by the names of parameters; those of a flag that may be repeated are a tuple."""


def loaded(name: str) -> ModuleType:
    """Return the module of a command, imported only now.

    All that is loaded stays, so the garbage collector is spared it, now and as long as the process runs: the
    start takes a quarter less. Most later objects stay, too. Where the module is there already, a command has
    run in this process, and what that has left is garbage.
    """
    if (module := sys.modules.get(name)) is not None:
        return module
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        settings_command.relieve_collector()
        gc.enable()


def configured(flags: Flags, *, steps: bool = True) -> Config:
    """Return Config after setting up logging, and log its warnings. Raises: ConfigError.

    Args: steps: False to log no list of the cluster, unless the user has chosen a level.
    """
    config, given = load(named(flags), os.environ), named(flags).get("log-level")
    log_output.setup(config.log_level, config.log_format, config.secrets,
                     steps=steps or bool(given or os.environ.get(OPTIONS["log-level"].env)))
    for warning in config.warnings:
        log.warning(warning)
    return config


def quiet(flags: Flags) -> Config:
    """Return Config for a command that logs nothing, except at debug level. Raises: ConfigError."""
    config = load(named(flags), os.environ)
    quieten(config)
    return config


def quieten(config: Config) -> None:
    """Disable the log except at level debug, because the output is complete."""
    log_output.setup(config.log_level if config.log_level == "debug" else "critical", config.log_format,
                     config.secrets)


def named(flags: Flags) -> dict[str, str | None]:
    """Return flags by the names of options.OPTIONS; a flag that may be repeated is a tuple."""
    def text(given: str | tuple[str, ...] | None) -> str | None:
        return (",".join(given) if given else None) if isinstance(given, tuple) else given

    return {name.replace("_", "-"): text(given) for name, given in flags.items()}


def object_key(given: str, namespace: str, default: str = "") -> Key:
    """Return the object that NAMESPACE/NAME, or NAME in a namespace, means.

    Args: namespace: of -n; default: the namespace of the router; "" for none.
    Raises: ConfigError: the text has another form, or the namespace is not known.
    """
    before, slash, name = given.rpartition("/")
    if not name or "/" in before or bool(slash) != bool(before):
        raise ConfigError([f"{given!r} must be NAMESPACE/NAME, or NAME"])
    if before and namespace and before != namespace:
        raise ConfigError([f"{given!r} is not in the namespace of -n, {namespace!r}"])
    if not (chosen := before or namespace or default):
        raise ConfigError([f"{given!r}: its namespace is missing: give NAMESPACE/NAME, or -n NAMESPACE"])
    try:
        return Key(parsers.namespace(chosen), name)
    except ValueError as exc:
        raise ConfigError([f"{given!r}: {exc}"]) from None


@contextlib.contextmanager
def reported(exit_status: int = BAD_SETTINGS) -> Iterator[None]:
    """Print each problem of a ConfigError on a line, and exit."""
    try:
        yield
    except ConfigError as exc:
        for problem in exc.problems:
            click.echo(printable(problem), err=True)
        sys.exit(exit_status)


@contextlib.contextmanager
def stopping() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and SIGINT set."""
    stop = threading.Event()

    def handle(*_: object) -> None:
        # Not here: the thread that is interrupted may hold the event's lock.
        threading.Thread(target=stop.set, daemon=True, name="signal").start()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Command with settings: its flags, their completion, short and full help, and its garbage collector.

click completes flags and values in a shell (https://click.palletsprojects.com/en/stable/shell-completion/); a
shell's script asks this program again for each completion. The settings of garbage collector and heap are for
a process whose objects live long and have no cycles.
"""

import atexit
import contextlib
import ctypes
import gc
from collections.abc import Collection
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from f5router.config.ignored_variables import FLAGS
from f5router.config.option import GROUPS, Option
from f5router.config.options import OPTIONS
from f5router.model.gateway import ROUTE_KINDS

SHELLS = ("bash", "zsh", "fish")
FILE, FOLDER = "FILE", "DIRECTORY"

CHOICES = {"log-level": ("debug", "info", "warning", "error", "critical"),
           "sources": ("routes", "ingress", "ingressroutes")}
"""Values of settings whose form in help does not name them; of `sources` several, with commas between."""

PROGRAM, COMPLETION_VARIABLE = "f5router", "_F5ROUTER_COMPLETE"


def completion_script(root: click.Command, shell: str) -> str:
    """Return the completion script for a shell. Args: shell: one of SHELLS."""
    kind = get_completion_class(shell)
    assert kind is not None, f"click completes in no {shell}"
    return kind(root, {}, PROGRAM, COMPLETION_VARIABLE).source()


def completed_values(option: Option, incomplete: str) -> list[CompletionItem]:
    """Return the values of a setting that begin with a text: its choices, or a file or folder."""
    if option.metavar in (FILE, FOLDER):
        return [CompletionItem(incomplete, type="file" if option.metavar == FILE else "dir")]
    choices = option.metavar.split("|") if "|" in option.metavar else CHOICES.get(option.name, ())
    before, comma, begun = incomplete.rpartition(",")
    return [CompletionItem(before + comma + choice) for choice in choices if choice.startswith(begun)]


ALL = "--help-all"
ESSENTIAL = ("f5-host", "f5-credentials-dir", "f5-ca-bundle", "f5-partition-path", "f5-http-vserver",
             "f5-https-vserver", "config", "namespace", "name", "log-level")
"""Settings in short help."""


class SettingsCommand(click.Command):
    """Command with settings as flags."""

    def __init__(self, *args: Any, settings: Collection[str] = tuple(OPTIONS), **kwargs: Any):
        """Args: settings: names of the settings; by default, all."""
        super().__init__(*args, **kwargs)
        self._options = [OPTIONS[name] for name in settings]
        self.params += [_flag(option) for option in self._options]
        if "f5-host" in settings:
            self.params += [_ignored_flag(name) for name in FLAGS]
        self.params.append(click.Option([ALL], is_flag=True, is_eager=True, expose_value=False,
                                        callback=_show_all, help="Show all settings and exit."))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, and accept "-n=x" as Go's flags do."""
        shorts = tuple(f"-{option.short}=" for option in OPTIONS.values() if option.short)
        return super().parse_args(ctx, [a[:2] + a[3:] if a.startswith(shorts) else a for a in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [param.get_help_record(ctx) for param in self.get_params(ctx)
               if not isinstance(param, SettingFlag | click.Argument)]  # usage has the arguments
        with formatter.section("Options"):
            formatter.write_dl([record for record in own if record])
        if not ctx.meta.get(ALL):
            shown = [option for option in self._options if option.name in ESSENTIAL]
            with formatter.section("Settings"):
                formatter.write_dl([_help(option) for option in shown])
            formatter.write_paragraph()
            formatter.write_text(f"{len(self._options) - len(shown)} more settings: {ALL}")
            return
        _format_groups(formatter, self._options)


class SettingsGroup(click.Group):
    """Group of commands whose --help-all shows the settings, too."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.params.append(click.Option([ALL], is_flag=True, is_eager=True, expose_value=False,
                                        callback=_show_all, help="Show all settings and exit."))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if ctx.meta.get(ALL):
            _format_groups(formatter, OPTIONS.values())


_KINDS = (("route", "routes", "rt"), ("ingress", "ingresses", "ing"), ("ingressroute", "ingressroutes"),
          ("gateway", "gateways", "gtw"), *((kind.lower(), f"{kind.lower()}s") for kind in ROUTE_KINDS),
          ("service", "services", "svc"), ("node", "nodes", "no"), ("pool", "pools"))
"""Names of each kind: singular, plural, and the short one of `oc api-resources`."""


class KindGroup(click.Group):
    """Group with a command for each kind, whose names and forms are those of kubectl.

    Such as `rt`, `route/NAME`, `ingresses.networking.k8s.io`.
    """

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by any name of its kind."""
        kind = cmd_name.lower().partition(".")[0]  # as in routes.route.openshift.io
        alike = next((names for names in _KINDS if kind in names), ())
        return next((self.commands[name] for name in (cmd_name, *alike) if name in self.commands), None)

    def resolve_command(self, ctx: click.Context,
                        args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve KIND/NAME as KIND NAME."""
        kind, slash, name = args[0].partition("/")
        split = [kind, name] if slash and self.get_command(ctx, kind) else [args[0]]
        return super().resolve_command(ctx, [*split, *args[1:]])


class SettingFlag(click.Option):
    """Flag of a setting."""

    def __init__(self, option: Option, names: list[str], **kwargs: Any):
        super().__init__(names, **kwargs)
        self.option = option

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return _help(self.option)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return completed_values(self.option, incomplete)


def _show_all(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    """Print help with all settings and exit, if the flag is given."""
    if given and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _format_groups(formatter: click.HelpFormatter, options: Collection[Option]) -> None:
    """Write settings, grouped under headings."""
    for group in GROUPS:
        if records := [_help(option) for option in options if option.group == group]:
            with formatter.section(group):
                formatter.write_dl(records)


def _flag(option: Option) -> SettingFlag:
    """Build the click option of a setting: one with a value; a boolean may also be a bare flag."""
    names = [f"--{option.name}", option.name.replace("-", "_")]
    if option.short:
        names.append(f"-{option.short}")
    bare: dict[str, Any] = {"is_flag": False, "flag_value": "true"} if option.boolean else {}
    return SettingFlag(option, names, type=str, default=None, multiple=option.repeats, **bare)


def _ignored_flag(name: str) -> click.Option:
    """Build an option that help and completion leave out; its value is optional."""
    return click.Option([f"--{name}", name.replace("-", "_")], type=str, default=None, hidden=True,
                        is_flag=False, flag_value="true")


def _help(option: Option) -> tuple[str, str]:
    """Return both columns of a setting's help."""
    short = f"-{option.short}, " if option.short else ""
    value = f"[={option.metavar}]" if option.boolean else f" {option.metavar}"
    notes = [option.env] if option.env else []
    if option.default:
        notes.append(f"default: {option.default}")
    return f"{short}--{option.name}{value}", option.help + (f"  [{'; '.join(notes)}]" if notes else "")


COLLECTOR_THRESHOLDS = 50_000, 20, 20
"""New objects after which it looks at them, and how many such looks there are between those at older ones.

With 700, 10 and 10, as Python has it, it looks at objects that stay again and again while a cluster is taken
in: that was 40 % of the CPU. The 50,000 objects take a few MiB.
"""


_ARENA_MAX = -8
"""Parameter of mallopt, as <malloc.h> has it. Source: mallopt(3)."""


def relieve_collector() -> None:
    """Freeze existing objects, raise the GC's thresholds, and limit malloc to one arena.

    The C library has a heap for each of several threads. Memory that one leaves free there is lost to the
    others: 10 MiB with 6,000 Routes. They do not get in each other's way, as Python runs one at a time.

    At the end of the process nothing is freed object by object, which took 0.7 s of CPU with 10,000 Routes:
    the kernel takes the memory back as a whole.
    """
    with contextlib.suppress(AttributeError, OSError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)

"""Command with settings: its flags, their completion, short help and full help."""

from collections.abc import Collection
from typing import Any

import click
from click.shell_completion import CompletionItem

from f5router.cli import completion
from f5router.config.ignored_variables import FLAGS
from f5router.config.option import GROUPS, Option
from f5router.config.options import OPTIONS

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


class SettingFlag(click.Option):
    """Flag of a setting."""

    def __init__(self, option: Option, names: list[str], **kwargs: Any):
        super().__init__(names, **kwargs)
        self.option = option

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return _help(self.option)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return completion.values(self.option, incomplete)


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

"""Completion of commands, flags and their values in a shell.

click has the mechanism (https://click.palletsprojects.com/en/stable/shell-completion/); a shell's script asks
this program again for each completion.
"""

import click
from click.shell_completion import CompletionItem, get_completion_class

from f5router.config.option import Option

SHELLS = ("bash", "zsh", "fish")
FILE, FOLDER = "FILE", "DIRECTORY"

CHOICES = {"log-level": ("debug", "info", "warning", "error", "critical"),
           "sources": ("routes", "ingress", "ingressroutes")}
"""Values of settings whose form in help does not name them; of `sources` several, with commas between."""

PROGRAM, VARIABLE = "f5router", "_F5ROUTER_COMPLETE"


def script(root: click.Command, shell: str) -> str:
    """Return the completion script for a shell. Args: shell: one of SHELLS."""
    kind = get_completion_class(shell)
    assert kind is not None, f"click completes in no {shell}"
    return kind(root, {}, PROGRAM, VARIABLE).source()


def values(option: Option, incomplete: str) -> list[CompletionItem]:
    """Return the values of a setting that begin with a text: its choices, or a file or folder."""
    if option.metavar in (FILE, FOLDER):
        return [CompletionItem(incomplete, type="file" if option.metavar == FILE else "dir")]
    choices = option.metavar.split("|") if "|" in option.metavar else CHOICES.get(option.name, ())
    before, comma, begun = incomplete.rpartition(",")
    return [CompletionItem(before + comma + choice) for choice in choices if choice.startswith(begun)]

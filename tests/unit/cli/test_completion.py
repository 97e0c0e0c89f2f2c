"""f5router completion: what bash offers, and what the other shells' scripts ask for."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from f5router.cli import settings_command
from f5router.cli.main import main
from f5router.config.options import OPTIONS

PROGRAM = Path(sys.executable).with_name("f5router")


def offered(*words: str) -> list[str]:
    """Types and values that are offered for the last word."""
    line = " ".join(["f5router", *words])
    done = CliRunner().invoke(main, env={
        "_F5ROUTER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))},
        prog_name="f5router")
    return list(filter(None, done.stdout.splitlines()))


@pytest.mark.parametrize(("words", "expected"), [
    (["pl"], ["plain,plan"]),
    (["status", ""], ["plain,clear"]),
    (["completion", ""], ["plain,bash", "plain,zsh", "plain,fish"]),
    (["run", "--cert"], ["plain,--cert-upload"]),
    (["plan", "--output", ""], ["plain,table", "plain,json"]),
    (["run", "--log-format", ""], ["plain,text", "plain,json"]),
    (["run", "--update-status", "t"], ["plain,true"]),
    (["run", "--log-level", "de"], ["plain,debug"]),
    (["run", "--sources", "routes,i"], ["plain,routes,ingress", "plain,routes,ingressroutes"]),
    (["run", "--config", "x"], ["file,x"]),
    (["run", "--f5-credentials-dir", ""], ["dir,"]),
    (["run", "--name", "x"], []),
], ids=str)
def test_offers(words, expected):
    assert offered(*words) == expected


def test_texts_of_commands_have_no_comma():
    """The script for fish ends a text there."""
    groups, texts = [main], []
    while groups:
        for command in groups.pop().commands.values():
            texts.append(command.get_short_help_str(limit=200))
            groups += [command] if isinstance(command, click.Group) else []
    assert [text for text in texts if "," in text] == []


def test_every_setting_is_offered():
    assert {line.removeprefix("plain,--") for line in offered("run", "--")} >= OPTIONS.keys()


def test_bash(tmp_path):
    """The script, in a real bash."""
    text = (f'PATH={PROGRAM.parent}:$PATH; source <(f5router completion bash); '
            'COMP_WORDS=(f5router run --log-format j); COMP_CWORD=3; _f5router_completion f5router; '
            'echo "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("json\n", "")


@pytest.mark.parametrize("shell", settings_command.SHELLS)
def test_scripts(shell):
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"{settings_command.COMPLETION_VARIABLE}={shell}_complete" in done.stdout


def test_an_unknown_shell():
    done = CliRunner().invoke(main, ["completion", "tcsh"])
    assert done.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in done.output

"""Manual pages: one for each command, each with all of its options."""

import re

import pytest

from f5router.config.options import OPTIONS
from tools import manpages


@pytest.fixture(scope="module")
def pages():
    return manpages.pages()


def test_each_command_has_a_page(pages):
    assert pages.keys() >= {"f5router.1", "f5router-run.1", "f5router-explain-route.1", "ghost-hostsubnet.1",
                            "ghost-hostsubnet-create.1"}
    for name, text in pages.items():
        sections = re.findall(r"^\.SH (.*)", text, re.MULTILINE)
        assert sections[:5] == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", *sections[4:5]], name


def test_every_option_is_in_it(pages):
    text = pages["f5router-run.1"].replace("\\-", "-").replace("\\&", "")
    for option in OPTIONS.values():
        assert f"--{option.name}" in text
        assert " ".join(option.help.split()) in text
        assert option.env in text
    assert "--once" in text
    assert "--help-all" in text


def test_arguments_are_in_the_synopsis_alone(pages):
    assert pages["f5router-explain-route.1"].count("NAMESPACE/]NAME") == 1


def test_no_line_is_a_command_by_mistake(pages):
    known = {".TH", ".SH", ".B", ".BR", ".PP", ".TP"}
    for name, text in pages.items():
        starts = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
        assert starts <= known, name

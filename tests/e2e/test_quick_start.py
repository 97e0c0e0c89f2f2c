"""docs/quick-start.md: each command as it stands there, against the fakes that the page starts."""

import os
from pathlib import Path

from tests.e2e.pages import Shell, blocks

PAGE = "quick-start.md"
ROOT = Path(__file__).resolve().parents[2]


def test_quick_start(tmp_path):
    listed = list(blocks(PAGE))
    (tmp_path / "build").mkdir()
    manifests = [block.text for block in listed if block.language == "yaml"]
    for name, manifest in zip(("hello", "gateway"), manifests, strict=True):
        (tmp_path / f"build/{name}.yaml").write_text(manifest)
    install, *commands = [block for block in listed if block.language == "sh"]
    assert "make environment" in install.text  # there already: this test runs in it
    shell = Shell(tmp_path, PYTHONPATH=str(ROOT), **{
        name: os.environ[name] for name in ("KUBECTL",) if name in os.environ})
    said = {}
    try:
        # Job numbers, as in a shell that somebody types into.
        shell.run("set -m; trap 'kill $(jobs -p) 2>/dev/null' EXIT")
        for block in commands:
            number = block.heading.split(".")[0]
            said[number] = said.get(number, "") + shell.run(block.text)
        assert "0 failures" in said["4"]
        assert "Plan: " in said["4"]
        assert "0 problems" in said["4"]
        assert '"pod": "hello-' in said["5"]
        promised = [block.text.strip() for block in listed if not block.language]
        assert [line for line in promised if line not in said["6"]] == []
        assert '"pod": "hello-' in said["6"]
        assert "+ listener http  HTTP port 80, all hosts: 1 route\n" in said["7"]
        assert '"pod": "hello-' in said["7"]
    finally:
        shell.end()

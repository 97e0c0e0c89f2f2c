"""A short version of one case of benchmarks/waits, so that what all of them share does not rot."""

import json

from click.testing import CliRunner

from benchmarks.waits.__main__ import main


def test_a_short_version(tmp_path):
    """Routes are added and answer, an endpoint changes, and what is counted was written."""
    file = tmp_path / "rows.json"
    result = CliRunner().invoke(main, ["edge", "--size", "0.003", "--tries", "1", "--json", str(file)])
    assert result.exit_code == 0, result.output
    rows = {row["what"] + row["case"]: row for row in json.loads(file.read_text())}
    assert [row["late"] for row in rows.values()] == [0] * 6
    assert rows["writes3 Routes at once"]["values"][0] >= 3

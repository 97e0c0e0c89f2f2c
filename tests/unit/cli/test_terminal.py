"""Output on a terminal and into a pipe."""

import io
import sys

import pytest
from rich.text import Text

from f5router.cli import terminal
from f5router.model.texts import hanging, plain_table


class Output(io.StringIO):
    """Standard output, a terminal or not."""

    def __init__(self, *, terminal: bool):
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def shown(monkeypatch):
    """Prints on a terminal of 40 columns, or into a pipe, and returns the output."""
    def show(action, *, tty: bool, **environ: str) -> str:
        for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm", "COLUMNS": "40", **environ}.items():
            monkeypatch.setenv(name, value)
        output = Output(terminal=tty)
        monkeypatch.setattr(sys, "stdout", output)
        action()
        return output.getvalue()

    return show


LINE = Text("word " * 20).append("end", "green")


def test_a_terminal_has_colours_and_lines_that_fit(shown):
    text = shown(lambda: terminal.show(LINE), tty=True)
    assert "\x1b[32mend" in text
    assert len(text.splitlines()) > 1


def test_the_rest_of_a_line_stands_below_its_text(shown):
    path = "/Common/openshift_insecure_routes/rules/x"  # 41 characters
    lines = shown(lambda: terminal.show(Text(f"  + create  ltm/policy/rule  {path}\n\nnext")), tty=True,
                  COLUMNS="50").splitlines()
    assert lines == ["  + create  ltm/policy/rule", f"      {path}", "", "next"]


@pytest.mark.parametrize(("tty", "environ"), [
    (True, {"NO_COLOR": "1"}), (False, {}), (False, {"FORCE_COLOR": "1"}), (True, {"TERM": "dumb"})])
def test_no_colours(shown, tty, environ):
    assert "\x1b[3" not in shown(lambda: terminal.show(LINE), tty=tty, **environ)


def test_lines_are_whole_in_a_pipe(shown):
    assert shown(lambda: terminal.show(LINE), tty=False) == f"{LINE.plain}\n"


def table(width: int, *elastic: tuple[str, ...]):
    """Print a table of two rows, and later a third one."""
    def show() -> None:
        table = terminal.TextTable(("A", "B", "WHY"), elastic)
        table.show([(Text("x", "green"), Text("y" * width), Text("Cause")),
                    (Text("xx"), Text("y"), Text("-"))])
        table.show([(Text("x"), Text("z" * (width + 2)), Text("-"))])

    return show


def test_a_table_fits_a_terminal(shown):
    """Columns are cut that may be; in a pipe, and without such columns, every cell is whole."""
    lines = shown(table(60, ("B",)), tty=True, NO_COLOR="1").replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert lines.splitlines() == [
        f"A   {'B':29}  WHY", f"x   {'y' * 28}…  Cause", f"xx  {'y':29}  -", f"x   {'z' * 28}…  -"]
    for tty, elastic in ((False, [("B",)]), (True, [])):
        assert f"{'y' * 60}  Cause" in shown(table(60, *elastic), tty=tty, NO_COLOR="1")
    assert "\x1b[32mx" in shown(table(5), tty=True)
    assert shown(table(5), tty=False).splitlines() == [
        "A   B      WHY", "x   yyyyy  Cause", "xx  y      -", "x   zzzzzzz  -"]


def test_groups_of_columns_are_cut_in_their_order(shown):
    """Nothing is narrower than 10 columns; then lines are longer than the terminal."""
    lines = shown(table(60, ("WHY",), ("B",)), tty=True, COLUMNS="20", NO_COLOR="1").splitlines()
    assert lines[1].startswith(f"x   {'y' * 9}…  Cause")


def test_markup_of_others_is_text(shown):
    assert shown(lambda: terminal.show(Text("[red]a[/red] :smile:")), tty=False) == "[red]a[/red] :smile:\n"
    assert plain_table(("A",), [("[red]a\x1b[2J",)]) == "A\n[red]a\\x1b[2J"


def test_hanging():
    assert hanging("one two three", 4, 44 + 4) == "one two three"
    assert hanging("word " * 12, 4, 44) == "\n    ".join([" ".join(["word"] * 8), " ".join(["word"] * 4)])

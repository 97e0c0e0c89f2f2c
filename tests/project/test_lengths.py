"""Modules are short enough to read at once, or say why they are longer."""

import ast

from tests.project.test_names import FILES, ROOT

MOST_LINES, REASON = 400, "Longer than other modules: "


def test_long_modules_say_why():
    assert [str(path.relative_to(ROOT)) for path in FILES
            if path.read_text().count("\n") > MOST_LINES
            and REASON not in (ast.get_docstring(ast.parse(path.read_text())) or "")] == []

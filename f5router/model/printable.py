"""Escaping of text from the cluster and the BIG-IP, so that it is safe to show.

Whoever may write an object chooses its texts. On a terminal an escape sequence moves the cursor or sets the
title, a line break begins a line that nobody wrote, and a character such as U+202E turns the order of what
follows. Every text that goes to a terminal, a log, a status or an Event passes through here.
"""


def printable(text: object) -> str:
    r"""Return a text on one line, with escapes such as \x1b, \n or \u202e for unprintable characters.

    Printable are those of str.isprintable and the blank. Escaped are control characters of both sets,
    separators of lines, marks of direction and other invisible characters, lone surrogates.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def bounded(text: object, most: int) -> str:
    """Return a text as printable does, of at most so many bytes in UTF-8; "..." stands for what is cut."""
    shown = printable(str(text)[:most + 1])
    data = shown.encode()
    if len(data) <= most:
        return shown
    return data[:most - 3].decode(errors="ignore") + "..."

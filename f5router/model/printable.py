"""Text from the cluster and the BIG-IP, made safe to show.

Whoever may write an object chooses its texts. On a terminal an escape sequence moves the cursor or sets the
title, a line break begins a line that nobody wrote, and a character such as U+202E turns the order of what
follows. Every text that goes to a terminal, a log, a status or an Event passes through here.
"""


def printable(text: object) -> str:
    r"""The text on one line, with an escape such as \x1b, \n or \u202e for what is not printed as itself.

    That is all but printable characters and the blank (str.isprintable): control characters of both sets,
    separators of lines, marks of direction and other invisible characters, lone surrogates.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)

"""Values of settings: looked up in flags, then variables, then defaults; every problem is collected."""

from collections.abc import Callable, Collection, Mapping, Set
from typing import Any

from f5router.config import parsers
from f5router.config.ignored_variables import FLAGS
from f5router.config.options import OPTIONS


class Reader:
    """Lookup of settings that collects their problems.

    Attributes:
        problems, warnings: one sentence each, beginning with Option.label.
        read_file: returns the text of a path; raises OSError, UnicodeDecodeError.
    """

    def __init__(self, flags: Mapping[str, str | None], environ: Mapping[str, str],
                 read_file: Callable[[str], str], entry: str = ""):
        if unknown := flags.keys() - OPTIONS.keys() - FLAGS.keys():
            raise ValueError(f"no such option: {', '.join(sorted(unknown))}")
        self._flags, self._environ, self.read_file = flags, environ, read_file
        self._entry = entry
        self._given: Set[str] = frozenset()
        """Settings of the entry."""
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def of_entry(self, entry: str, given: Mapping[str, str]) -> "Reader":
        """Return the settings with some others, of an entry of a file; problems of these join the others.

        Args: entry: what their problems begin with.
        """
        reader = Reader({**self._flags, **given}, self._environ, self.read_file, entry)
        reader.problems, reader.warnings, reader._given = self.problems, self.warnings, given.keys()
        return reader

    def again(self, read_file: Callable[[str], str]) -> "Reader":
        """Return the settings without their problems, whose files are read anew."""
        return Reader(self._flags, self._environ, read_file)

    def from_flag(self, name: str) -> bool:
        """True if the flag was given, empty or not."""
        return self._flags.get(name) is not None

    def is_set(self, name: str) -> bool:
        """True if the flag was given, or the variable has a value."""
        return self.from_flag(name) or bool(self.variable(OPTIONS[name].env))

    def variable(self, name: str) -> str:
        """Return the text of a variable, of an option or not; "" for none."""
        return self._environ.get(name) or ""

    def variables(self) -> list[str]:
        """Return the names of all variables that are set and not empty."""
        return [name for name, text in self._environ.items() if text]

    def text(self, name: str) -> str:
        """Return the text of the flag, of the variable unless empty, or the default."""
        if (text := self._flags.get(name)) is not None:
            return text
        option = OPTIONS[name]
        return self.variable(option.env) or option.default

    def value(self, name: str) -> Any:
        """Return the parsed value; "" for an option that is not set and has no default.

        A text that does not parse is a problem, and the default stands in for it.
        """
        option, text = OPTIONS[name], self.text(name)
        if not text and not option.default:
            return ""
        if option.boolean and not self.from_flag(name):
            if text not in (*parsers.TRUE_WORDS, *parsers.FALSE_WORDS):
                self.warn(f"{text!r} counts as false; only {' '.join(parsers.TRUE_WORDS)} are true", name)
            return parsers.lenient_boolean(text)
        try:
            return option.parse(text)
        except ValueError as exc:
            self.problem(str(exc), name)
            return option.parse(option.default) if option.default else ""

    def read(self, name: str, path: str = "", *, missing_ok: bool = False,
             directory: bool = False) -> str | None:
        """Read the file that a setting names, or another one; None after a problem, and for a directory.

        Args: directory: it must be a directory.
        Raises: FileNotFoundError: only where missing_ok.
        """
        path = path or self.text(name)
        shown = "the file" if OPTIONS[name].secret else repr(path)
        if "\n" in path or "-----BEGIN" in path:
            self.problem("it must be the path of a file, not the content", name)
            return None
        try:
            text = self.read_file(path)
            if not directory:
                return text
            self.problem(f"{shown} is not a directory", name)
        except FileNotFoundError as exc:
            if missing_ok:
                raise
            hint = "" if self.from_flag(name) else "; mount the volume with it, or leave the variable out"
            self.problem(f"cannot read {shown}: {exc.strerror or 'it does not exist'}{hint}", name)
        except OSError as exc:
            if not (directory and isinstance(exc, IsADirectoryError)):
                self.problem(f"cannot read {shown}: {exc.strerror or type(exc).__name__}", name)
        except ValueError:
            self.problem(f"cannot read {shown}: it is not text in UTF-8", name)
        return None

    def problem(self, message: str, *names: str) -> None:
        """Record that these settings are invalid."""
        self._record(self.problems, message, names)

    def warn(self, message: str, *names: str) -> None:
        """Record a warning about these settings."""
        self._record(self.warnings, message, names)

    def _record(self, texts: list[str], message: str, names: Collection[str]) -> None:
        if not self._entry:
            texts.append(f"{', '.join(OPTIONS[name].label for name in names)}: {message}")
        elif not self._given.isdisjoint(names) or not any(map(self.is_set, names)):
            texts.append(f"{self._entry}{', '.join(names)}: {message}")


"""Log output: text or JSON, without secrets; problems that last are logged once; words for failures.

Modules log a constant message and `extra` fields:

    log.info("pool changed", extra={"pool": path, "members": 3})
    2024-05-01T12:00:00.123Z INFO f5router.plan.change pool changed pool=/Common/a members=3
    {"time": "2024-05-01T12:00:00.123Z", "level": "info", "logger": "f5router.plan.change",
     "message": "pool changed", "pool": "/Common/a", "members": 3}

No code logs a secret on purpose. Redaction is the last line of defence, for texts of libraries and
exceptions. Texts are made printable in both forms: the values of the JSON are read in terminals too.

Texts of libraries about failures of connections have class names, addresses in memory and lines of a source,
and perhaps a URL with a password; so they get words of ours.
"""

import contextlib
import copy
import http.client
import json
import logging
import os
import re
import ssl
import sys
import urllib.parse
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TextIO

from f5router.model.texts import printable

HIDDEN = "***"

SHORTEST_SECRET = 4
"""Characters. A shorter one would be found in ordinary words, and give itself away by its gaps."""

NOISY = ("paramiko", "urllib3", "requests")
"""Kept at WARNING, unless the level is debug."""

NEVER_DEBUG = ("kubernetes", "urllib3.util.retry")
"""Kept at WARNING always: at debug the first logs bodies of replies, Secrets among them, and the second the
same line for every request.
"""

STEPS = "f5router.kube"

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_OURS = frozenset({"time", "level", "logger", "exception", "stack"})

_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_.-])(?:password|passwd|passphrase|token|authorization|cookie)$"
)
_PLAIN = re.compile(r"[!#-<>-~]+")
"""A text that needs no quotes in key=value: printable ASCII without blank, quote and "="."""

_PATTERNS = (
    # To the end of the text when the block is cut off.
    (re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
                re.DOTALL), HIDDEN),
    (re.compile(r"(?i)(authorization\W{1,6}(?:basic|bearer)\s+)[^\s'\",}]+"), rf"\1{HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), HIDDEN),  # service account
    (re.compile(r"(?i)(x-f5-auth-token\W{1,5})[A-Za-z0-9]{8,}"), rf"\1{HIDDEN}"),
    (re.compile(r"""(?i)(["']password["']\s*:\s*)(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""),
     rf'\1"{HIDDEN}"'),
    # The device's tokens: 26 characters of base32 (bigip-behaviour.md A4).
    (re.compile(r"(?<![A-Za-z0-9])[A-Z2-7]{26}(?![A-Za-z0-9])"), HIDDEN),
)

_TOKEN = re.compile(r"[A-Z2-7]{26}")


class Redaction:
    """Replaces secrets in texts and log records by "***"."""

    def __init__(self, secrets: Iterable[str] = ()):
        self._spellings: tuple[str, ...] = ()
        for secret in secrets:
            self.hide(secret)

    def hide(self, secret: str) -> None:
        """Replace this text too from now on; shorter than SHORTEST_SECRET, it is ignored."""
        if len(secret) < SHORTEST_SECRET:
            return
        spellings = {
            secret, json.dumps(secret)[1:-1], repr(secret)[1:-1],
            urllib.parse.quote(secret, safe=""), urllib.parse.quote_plus(secret),
        }
        # A secret that is part of another must not be replaced first.
        self._spellings = tuple(sorted({*self._spellings, *spellings}, key=len, reverse=True))

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        for spelling in self._spellings:
            text = text.replace(spelling, HIDDEN)
        if _may_match(text):
            for pattern, replacement in _PATTERNS:
                text = pattern.sub(replacement, text)
        return text

    def value(self, value: object, name: str = "") -> object:
        """Return a field's value without secrets: numbers as they are, containers copied, others as text."""
        if value is None or isinstance(value, bool | int | float):
            return value
        if name and _SECRET_NAME.search(name):
            return HIDDEN
        if isinstance(value, str):
            return self.line(value)
        if isinstance(value, Mapping):
            return {self.line(str(key)): self.value(item, str(key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, set | frozenset):
            return sorted((self.value(item) for item in value), key=str)
        return self.line(str(value))

    def line(self, text: str) -> str:
        """Return the text without secrets, on one printable line."""
        return printable(self.text(text))

    def lines(self, text: str) -> str:
        """Return several lines without secrets."""
        return "\n".join(printable(line) for line in self.text(text).split("\n"))

    def record(self, record: logging.LogRecord) -> logging.LogRecord:
        """Return a copy of the record in which message, fields and traceback hold no secrets."""
        clean = copy.copy(record)
        try:
            clean.msg = self.line(record.getMessage())
        except (TypeError, ValueError, KeyError):  # arguments that do not fit the message
            clean.msg = self.line(f"{record.msg} {record.args}")
        clean.args = None
        if record.exc_info and not record.exc_text:
            clean.exc_text = logging.Formatter().formatException(record.exc_info)
        clean.exc_info = None
        clean.exc_text = clean.exc_text and self.lines(clean.exc_text)
        clean.stack_info = record.stack_info and self.lines(record.stack_info)
        for name in record.__dict__.keys() - _STANDARD:
            clean.__dict__[name] = self.value(record.__dict__[name], name)
        return clean


def _may_match(text: str) -> bool:
    """True if one of _PATTERNS may match. In nearly all texts none does, and this is found sooner."""
    small = text.lower()
    return ("private key" in small or "authorization" in small or "eyj" in small or "auth-token" in small
            or "password" in small or not text.isascii() or _TOKEN.search(text) is not None)


def setup(level: str, format: str, secrets: Iterable[str] = (), stream: TextIO | None = None, *,
          steps: bool = True) -> None:
    """Send all log output to one stream, instead of where it went before.

    Args:
        level: "debug", "info", "warning", "error" or "critical".
        format: "text" or "json".
        secrets: texts that no line may show: Config.secrets.
        stream: None: standard error.
        steps: False to leave out each list of the cluster, where a bar shows that it is read.
    """
    handler = _Handler(stream, Redaction(secrets))
    handler.setFormatter(_JSON() if format == "json" else _Text())
    root = logging.getLogger()
    for old in _handlers():
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else logging.WARNING)
    for name in NEVER_DEBUG:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger(STEPS).setLevel(logging.NOTSET if steps else logging.WARNING)
    logging.captureWarnings(True)
    # One for each length of a name in a tenant's certificate, and none of them names the Route.
    warnings.filterwarnings("ignore", "Attribute's length must be", UserWarning)


def shows_text(logger: logging.Logger) -> bool:
    """True if what a logger writes at level info goes to standard error as text."""
    return logger.isEnabledFor(logging.INFO) and any(
        isinstance(handler.formatter, _Text) and handler.stream is sys.stderr for handler in _handlers())


@contextlib.contextmanager
def redirected(before: TextIO, stream: TextIO) -> Iterator[None]:
    """Redirect a stream to another one for a while."""
    handlers = [handler for handler in _handlers() if handler.stream is before]
    for handler in handlers:
        handler.setStream(stream)
    try:
        yield
    finally:
        for handler in handlers:
            handler.setStream(before)


def hide(secret: str) -> None:
    """Keep a text that became known at run time, such as a token, out of the log."""
    for handler in _handlers():
        handler.redaction.hide(secret)


def _handlers() -> "list[_Handler]":
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, _Handler)]


class _Handler(logging.StreamHandler[TextIO]):
    def __init__(self, stream: TextIO | None, redaction: Redaction):
        super().__init__(stream)
        self.redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        return super().format(self.redaction.record(record))

    def handleError(self, record: logging.LogRecord) -> None:
        """Report a lost line; logging itself would print the record with its arguments."""
        kind = sys.exc_info()[0]
        if sys.stderr:
            print(f"log line of {record.name} lost: {kind and kind.__name__}", file=sys.stderr)


class _Text(logging.Formatter):
    """Text: time LEVEL logger message key=value ...; a traceback follows on indented lines of its own.

    So none of its lines looks like a line of the log.
    """

    def format(self, record: logging.LogRecord) -> str:
        parts = [_time(record), record.levelname, record.name, record.getMessage()]
        parts += [f"{key}={_quoted(value)}" for key, value in _fields(record).items()]
        below = [line for text in (record.exc_text, record.stack_info) if text for line in text.split("\n")]
        return "\n  ".join([" ".join(parts), *below])


class _JSON(logging.Formatter):
    """JSON, one object per line: time, level, logger, message, the fields, exception, stack."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _time(record), "level": record.levelname.lower(), "logger": record.name,
                "message": record.getMessage(), **_fields(record)}
        if record.exc_text:
            line["exception"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        return json.dumps(line, default=str)


def _time(record: logging.LogRecord) -> str:
    """Format the time in UTC with milliseconds, as in 2024-05-01T12:00:00.123Z."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return the `extra` fields; "_" is appended to a name that is used already."""
    return {
        f"{name}_" if name in _OURS else name: value
        for name, value in record.__dict__.items()
        if name not in _STANDARD
    }


def _quoted(value: object) -> str:
    """Format a value of key=value: bare if it can be, else as JSON."""
    if isinstance(value, int | float):
        return json.dumps(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if _PLAIN.fullmatch(text) else json.dumps(value, default=str)


log = logging.getLogger(__name__)


class PersistentLog:
    """Problems of one subject that were logged and still hold; one thread uses it."""

    def __init__(self, subject: str):
        """Args: subject: a constant, the log's message."""
        self._subject = subject
        self._logged: dict[str, int] = {}

    def update(self, problems: Iterable[str], warnings: Iterable[str]) -> None:
        """Log new problems, as errors or warnings, and those that are resolved."""
        now = {**dict.fromkeys(warnings, logging.WARNING), **dict.fromkeys(problems, logging.ERROR)}
        for text, level in now.items():
            if self._logged.get(text) != level:
                log.log(level, self._subject, extra={"problem": text})
        for text in self._logged.keys() - now.keys():
            log.info("problem resolved", extra={"subject": self._subject, "problem": text})
        self._logged = now


NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
"""Reasons of OpenSSL where the other side begins with something else than a record of TLS."""


def exception_links(exc: BaseException) -> list[BaseException]:
    """Return an exception and those that it wraps, outermost first.

    __context__ is not followed: it leads to what the caller is handling, perhaps an older failure.
    """
    result: list[BaseException] = []
    todo = [exc]
    while todo:
        link = todo.pop(0)
        if any(link is seen for seen in result):
            continue
        result.append(link)
        inner = (*link.args, getattr(link, "reason", None), link.__cause__)
        todo += [each for each in inner if isinstance(each, BaseException)]
    return result


def failure_words(chain: list[BaseException]) -> str:
    """Return why there is no reply, by the exceptions of Python's own library; "" if they do not show it."""
    if any(isinstance(link, http.client.IncompleteRead) for link in chain):
        return "the reply was cut off"
    for link in reversed(chain):
        if isinstance(link, ssl.SSLError):
            return _tls(link)
        if isinstance(link, ConnectionError) and not link.errno:
            return "the connection was closed without a reply"
        if isinstance(link, http.client.HTTPException):
            return "the reply is not HTTP"
        if isinstance(link, OSError) and link.errno:
            return os.strerror(link.errno)
    return ""


def _tls(error: ssl.SSLError) -> str:
    if error.reason in NO_TLS:
        return "no TLS is spoken there: another server has this port"
    return f"TLS: {error.reason or 'connection closed'}"

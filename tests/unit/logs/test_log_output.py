"""Log lines: their two forms, and what they never show."""

import base64
import io
import json
import logging
import re

import pytest
from cryptography import x509

from f5router.admission import pem
from f5router.logs import log_output
from tests import hostile_certificates

PASSWORD = 'p"ä\\ss word'
TOKEN = "F3J4CMRAYBWVD6A74A6KBP4DGQ"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nZmFrZQ==\n-----END RSA PRIVATE KEY-----\n"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"



@pytest.fixture
def written():
    """setup() with a stream, which is returned."""

    def make(form="text", level="info", secrets=()):
        stream = io.StringIO()
        log_output.setup(level, form, secrets, stream)
        return stream

    return make


log = logging.getLogger("f5router.plan.change")


def test_text(written):
    """time level logger message key=value ..."""
    out = written()
    log.info("pool changed", extra={"pool": "/Common/a", "members": 3, "ok": True, "none": None})
    assert re.fullmatch(
        TIME + r" INFO f5router\.plan\.change pool changed pool=/Common/a members=3 ok=true none=null\n",
        out.getvalue(),
    )


@pytest.mark.parametrize(("value", "shown"), [
    pytest.param("a b", '"a b"', id="blank"),
    pytest.param("", '""', id="empty"),
    pytest.param('a"b', r'"a\"b"', id="quote"),
    pytest.param("a=b", '"a=b"', id="equals"),
    pytest.param("a\nlevel=error", r'"a\\nlevel=error"', id="line end"),
    pytest.param("ä", r'"\u00e4"', id="not ASCII"),
    pytest.param("/Common/a~b,c", "/Common/a~b,c", id="bare"),
    pytest.param(["a", 1], '["a", 1]', id="list"),
    pytest.param({"k": (1, 2)}, '{"k": [1, 2]}', id="dict"),
    pytest.param(frozenset({"b", "a"}), '["a", "b"]', id="set"),
    pytest.param(ValueError("why so"), '"why so"', id="exception"),
    pytest.param(1.5, "1.5", id="number"),
])
def test_text_values(written, value, shown):
    """Quoted as JSON where a bare word would be unclear."""
    out = written()
    log.info("m", extra={"key": value})
    assert out.getvalue().rstrip("\n").partition(" m key=")[2] == shown


def test_json(written):
    """One object per line."""
    out = written("json")
    log.warning("pool %s", "changed", extra={"pool": "/Common/ä", "members": 3, "list": ("a",)})
    log.info("second\nline")
    first, second = (json.loads(line) for line in out.getvalue().splitlines())
    assert re.fullmatch(TIME, first.pop("time"))
    assert first == {"level": "warning", "logger": "f5router.plan.change", "message": "pool changed",
                     "pool": "/Common/ä", "members": 3, "list": ["a"]}
    assert second["message"] == r"second\nline"


@pytest.mark.parametrize("form", ["text", "json"])
def test_traceback(written, form):
    """Is kept: below the line, or as a field."""
    out = written(form)
    try:
        raise RuntimeError("broken")
    except RuntimeError:
        log.exception("failed")
    if form == "json":
        assert json.loads(out.getvalue())["exception"].endswith("RuntimeError: broken")
    else:
        assert out.getvalue().endswith("RuntimeError: broken\n")
        assert "ERROR f5router.plan.change failed\n  Traceback" in out.getvalue()


@pytest.mark.parametrize("form", ["text", "json"])
def test_stack(written, form):
    """So is a stack that was asked for."""
    out = written(form)
    log.info("here", stack_info=True)
    text = json.loads(out.getvalue())["stack"] if form == "json" else out.getvalue()
    assert "Stack (most recent call last)" in text


def test_one_line(written):
    """User text in a message cannot pretend to be a line of the log."""
    out = written()
    log.info("host %s", "a\n2024-01-01T00:00:00.000Z ERROR f5router forged\x1b[2K")
    assert len(out.getvalue().splitlines()) == 1
    assert "\x1b" not in out.getvalue()


HOSTILE = "a\x1b]0;t\x07\x9b2J\u202eb\u2028c\r\x00\x7f\n2024-01-01T00:00:00.000Z ERROR f5router forged"


@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_texts(written, form):
    """Wherever a record can hold them: not on the line, and not for those who read the values of the JSON."""
    out = written(form)
    log.info("m %s", HOSTILE, extra={"field": HOSTILE, "list": [HOSTILE], "dict": {HOSTILE: HOSTILE}})
    _fail(HOSTILE)
    handle("m", stack_info=f"Stack:\n  {HOSTILE}")
    lines = out.getvalue().rstrip("\n").split("\n")
    assert all(line.isprintable() and line.isascii() for line in lines)
    if form == "text":
        assert len([line for line in lines if not line.startswith("  ")]) == 3
        return
    for line in lines:
        values = json.loads(line)
        texts = [text for value in values.values() for text in str(value).split("\n")]
        assert all(text.isprintable() for text in texts)
    assert len(lines) == 3


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_of_ours(written, form):
    """A field does not overwrite time, level or logger."""
    out = written(form)
    log.info("m", extra={"level": "x", "time": "y"})
    if form == "json":
        entry = json.loads(out.getvalue())
        assert (entry["level"], entry["level_"], entry["time_"]) == ("info", "x", "y")
    else:
        assert " INFO " in out.getvalue()
        assert "level_=x time_=y" in out.getvalue()


def test_level(written):
    """Below the level nothing is written."""
    out = written(level="warning")
    log.info("no")
    log.warning("yes")
    assert [line.split()[-1] for line in out.getvalue().splitlines()] == ["yes"]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "critical"])
def test_levels(written, level):
    """Every level of Config.log_level."""
    written(level=level)
    assert logging.getLogger().level == getattr(logging, level.upper())


def test_setup_again(written):
    """The last one counts; no line is written twice."""
    first, second = written(), written("json")
    log.info("m")
    assert first.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1


@pytest.mark.parametrize(("name", "level", "debug", "info"), [
    ("paramiko.transport", "info", False, False), ("paramiko.transport", "debug", True, True),
    ("urllib3.connectionpool", "info", False, False), ("urllib3.connectionpool", "debug", True, True),
    ("urllib3.util.retry", "debug", False, False),
    ("kubernetes.client.rest", "info", False, False), ("kubernetes.client.rest", "debug", False, False),
])
def test_libraries(written, name, level, debug, info):
    """Quiet unless debug; those that log the bodies of replies, always."""
    out = written(level=level)
    for form in ("DEBUG", "INFO", "WARNING"):
        logging.getLogger(name).log(getattr(logging, form), "said")
    shown = [line.split()[1] for line in out.getvalue().splitlines()]
    assert shown == ["DEBUG"] * debug + ["INFO"] * info + ["WARNING"]


def test_quiet_again(written):
    """debug first does not leave the libraries talking."""
    written(level="debug")
    out = written(level="info")
    logging.getLogger("urllib3").info("said")
    assert out.getvalue() == ""


# ---- Secrets


class Unprintable:
    """An object whose text cannot be made."""

    def __init__(self, secret):
        self.secret = secret

    def __repr__(self):
        raise RuntimeError(self.secret)


def handle(message, *args, **extra):
    """Give a record to our handler alone: pytest's own refuse those that cannot be formatted."""
    level = logging.INFO
    record = logging.makeLogRecord(
        {"name": "n", "msg": message, "args": args, "levelno": level, "levelname": "INFO", **extra})
    (handler,) = [each for each in logging.getLogger().handlers if hasattr(each, "redaction")]
    handler.handle(record)
    return record


SPOTS = {
    "message": lambda secret: log.info(f"got {secret}!"),
    "argument": lambda secret: log.info("got %s!", secret),
    "field": lambda secret: log.info("m", extra={"field": secret}),
    "list": lambda secret: log.info("m", extra={"field": ["a", secret]}),
    "dict": lambda secret: log.info("m", extra={"field": {"k": {"deep": secret}}}),
    "dict key": lambda secret: log.info("m", extra={"field": {secret: 1}}),
    "set": lambda secret: log.info("m", extra={"field": {secret}}),
    "object": lambda secret: log.info("m", extra={"field": ValueError(secret)}),
    "repr": lambda secret: log.info("m %r", {"k": secret}),
    "JSON": lambda secret: log.info("m %s", json.dumps({"k": secret})),
    "bad arguments": lambda secret: handle("m %d", secret),
    "too many arguments": lambda secret: handle("m", secret, 1),
    "unprintable": lambda secret: handle("m", field=Unprintable(secret)),
    "exception": lambda secret: _fail(secret),
    "chained exception": lambda secret: _fail(secret, chained=True),
    "stack": lambda secret: handle("m", stack_info=f"Stack (most recent call last):\n  f({secret})"),
}


def _fail(secret, chained=False):
    try:
        try:
            raise ValueError(f"bad {secret}")
        except ValueError as exc:
            if chained:
                raise RuntimeError("second") from exc
            raise
    except (ValueError, RuntimeError):
        log.exception("failed")


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("spot", SPOTS)
@pytest.mark.parametrize(("secret", "tell_tale"), [
    (PASSWORD, "ss word"), (TOKEN, "F3J4CMRA"), (KEY, "MIIEowIBAAKCAQEA"),
], ids=["password", "token", "private key"])
def test_hidden(written, capsys, form, spot, secret, tell_tale):
    """Wherever a record can hold it, a secret becomes ***, or the line is lost and that is said."""
    out = written(form, secrets=[PASSWORD])
    SPOTS[spot](secret)
    said = capsys.readouterr().err
    assert tell_tale not in out.getvalue() + said
    if spot == "unprintable":
        assert said == "log line of n lost: RuntimeError\n"
        return
    assert said == ""
    assert "***" in out.getvalue()
    if form == "json":
        json.loads(out.getvalue())


@pytest.mark.parametrize("text", [
    f"X-F5-Auth-Token: {TOKEN.lower()}",
    f"{{'X-F5-Auth-Token': '{TOKEN.lower()}'}}",
    "Authorization: Basic geheim",
    "{'Authorization': 'Bearer geheim'}",
    '{"username": "admin", "password": "geheim", "loginProviderName": "tmos"}',
    "{'password': 'a\\'geheim'}",
    "token eyJhbGciOiJSUzI1NiJ9.geheim.geheim",
    "-----BEGIN PRIVATE KEY-----\ngeheim and then it is cut off",
    "-----BEGIN OPENSSH PRIVATE KEY-----\\ngeheim\\n-----END OPENSSH PRIVATE KEY-----",
    "p%22%C3%A4%5Css%20word geheim",
], ids=["token header", "token in a dict", "basic", "bearer", "login body", "login repr", "service account",
        "cut key", "escaped key", "percent-encoded"])
def test_hidden_by_form(text):
    """Secrets that are known by where they stand, or in another spelling."""
    shown = log_output.Redaction([PASSWORD, "geheim" if "%" in text else PASSWORD]).text(text)
    assert "geheim" not in shown
    assert TOKEN.lower() not in shown
    assert "%C3%A4" not in shown
    assert "***" in shown


@pytest.mark.parametrize("name", ["password", "f5_password", "token", "auth-token", "Authorization",
                                  "passphrase", "cookie"])
def test_hidden_by_name(written, name):
    """A field with such a name is not shown, whatever it holds; also inside a dict."""
    out = written("json")
    log.info("m", extra={name: "geheim", "headers": {name: "geheim"}})
    entry = json.loads(out.getvalue())
    assert (entry[name], entry["headers"]) == ("***", {name: "***"})


@pytest.mark.parametrize("text", [
    "HTTP basic authentication failed", "Authorization failed: no user authentication header",
    "X-F5-Auth-Token has expired.", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "SHA256:" + "A" * 43, "/Common/openshift_route_a_b", "password is empty",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
], ids=lambda text: text[:20])
def test_not_hidden(text):
    """Ordinary texts stay as they are."""
    assert log_output.Redaction([PASSWORD]).text(text) == text


def test_fields_that_are_not_secret():
    """Paths of keys and names of Secrets are needed to find a fault."""
    shown = log_output.Redaction().value({"private_key": "/etc/key", "secret": "ns/name", "tokens": 3})
    assert shown == {"private_key": "/etc/key", "secret": "ns/name", "tokens": 3}


def test_short_secret():
    """A password of 3 characters would be found everywhere."""
    assert log_output.Redaction(["abc"]).text("abcdef") == "abcdef"
    assert log_output.Redaction(["abcd"]).text("abcdef") == "***ef"


def test_longer_secret_first():
    """A secret within another does not leave the rest of it."""
    assert log_output.Redaction(["word", "password-1"]).text("password-1 word") == "*** ***"


def test_basic_credentials(written):
    """The pair of an Authorization header is one of Config.secrets."""
    pair = base64.b64encode(b"admin:geheim").decode()
    out = written(secrets=["geheim", pair])
    log.info("sent %s", pair)
    assert pair not in out.getvalue()


@pytest.mark.parametrize("name", ["password", "PassWord", "pa\u017f\u017fword"])
def test_a_name_in_any_case(name):
    """Also with characters that are an "s" only where case does not count."""
    assert log_output.Redaction().text(f'{{"{name}": "abcd"}}') == f'{{"{name}": "***"}}'


def test_hide_later(written):
    """A secret learnt at run time."""
    out = written()
    log.info("before lower-token")
    log_output.hide("lower-token")
    log.info("after lower-token")
    assert [line.split()[-1] for line in out.getvalue().splitlines()] == ["lower-token", "***"]


def test_record_is_copied(written):
    """Other handlers see the record as it was made."""
    written(secrets=[PASSWORD])
    record = handle("a %s", PASSWORD, field=PASSWORD)
    assert (record.msg, record.args, record.field) == ("a %s", (PASSWORD,), PASSWORD)


def test_python_warnings(written):
    """Libraries' calls of warnings.warn are logged too."""
    import warnings

    out = written()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning(f"use {TOKEN}", UserWarning, "a.py", 1)
    assert "py.warnings" in out.getvalue()
    assert TOKEN not in out.getvalue()


def test_no_warning_for_each_length_of_a_name_in_a_certificate(written):
    out = written()
    text = hostile_certificates.certificate(b"x" * 65).certificate
    assert pem.common_names(x509.load_pem_x509_certificate(text.encode()), "subject") == ["x" * 65]
    assert out.getvalue() == ""

"""f5router.model.errors: each recorded refusal of a BIG-IP gets its class, and none of its secrets."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.icontrol.uploads.ssh import printable
from f5router.model import errors
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    Busy,
    Conflict,
    DeviceTimeout,
    InUse,
    NotFound,
    NotReady,
    Refused,
    Unreachable,
    Unsupported,
    UploadError,
    error_for,
    redact_keys,
)
from tests.examples import examples
from tests.rows import rows

RECORDINGS = Path(__file__).parents[2] / "recordings" / "errors"

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nZm9v\n-----END RSA PRIVATE KEY-----"

CLASSES = [
    ("400--bad-json", Refused),
    ("400--clientssl-cert-and-chain", Refused),
    ("400--clientssl-in-use", InUse),
    ("400--config-sync-group-missing", Refused),
    ("400--crypto-key-mismatch", Refused),
    ("400--data-group-type-change", Refused),
    ("400--data-group-value-too-long", Refused),
    ("400--fdb-tunnel-delete", Refused),
    ("400--feature-not-provisioned", Refused),
    ("400--html-tag-like", Refused),
    ("400--local-file-missing", Refused),
    ("400--login-token-limit", Refused),
    ("400--mcpd-count", NotReady),
    ("400--member-folder-missing", Refused),
    ("400--member-node-same-address", Refused),
    ("400--monitor-in-use", InUse),
    ("400--no-properties", Refused),
    ("400--node-address-exists", Refused),
    ("400--node-in-use", InUse),
    ("400--node-referenced", InUse),
    ("400--policy-draft-exists-published", Refused),
    ("400--policy-enable-disable", Refused),
    ("400--policy-in-use-11.6", InUse),
    ("400--policy-missing-operand", Refused),
    ("400--policy-needs-profile", Refused),
    ("400--policy-option-conflict", Refused),
    ("400--policy-published-direct", Refused),
    ("400--pool-create-folder-missing", Refused),
    ("400--provisioning-in-progress", NotReady),
    ("400--route-domain-default", Refused),
    ("400--ssl-source-unreadable", Refused),
    ("400--traffic-group-missing", Refused),
    ("400--transaction-bad-command-id", Refused),
    ("400--transaction-commit-failed-snatpool", InUse),
    ("400--transaction-commit-no-properties", Refused),
    ("400--unexpected-uri", Refused),
    ("400--unknown-property", Refused),
    ("400--version-not-supported", Refused),
    ("400--virtual-address-exists", Refused),
    ("400--virtual-address-in-use", InUse),
    ("400--virtual-shares-destination", Refused),
    ("400--virtual-source-family", Refused),
    ("401--basic-auth-html", AuthFailed),
    ("401--login-failed-with-headers", AuthFailed),
    ("401--login-failed", AuthFailed),
    ("401--no-auth-detected-15", AuthFailed),
    ("401--no-auth-detected-17-with-headers", AuthFailed),
    ("401--no-auth-detected", AuthFailed),
    ("401--role-refused", AuthFailed),
    ("401--token-expired", AuthFailed),
    ("401--token-missing", AuthFailed),
    ("404--clientssl-missing", NotFound),
    ("404--data-group-delete-missing", NotFound),
    ("404--data-group-put-missing", NotFound),
    ("404--data-group-record-missing", NotFound),
    ("404--device-group-device-missing", NotFound),
    ("404--folder-missing-11.6", NotFound),
    ("404--irule-missing", NotFound),
    ("404--member-delete-missing", NotFound),
    ("404--member-get-missing", NotFound),
    ("404--member-patch-pool-missing", NotFound),
    ("404--member-post-pool-missing", NotFound),
    ("404--monitor-missing-by-type", NotFound),
    ("404--node-name-missing-11.6", NotFound),
    ("404--pool-missing", NotFound),
    ("404--public-uri-not-registered", NotReady),
    ("404--rest-worker-uri-not-found-11.5", NotReady),
    ("404--task-missing", NotFound),
    ("404--transaction-empty", NotFound),
    ("404--uri-not-registered", NotReady),
    ("404--virtual-address-missing", NotFound),
    ("404--virtual-missing", NotFound),
    ("404--virtual-policies-post-11.5", NotFound),
    ("404--worker-not-started", NotReady),
    ("409--data-group-exists", Conflict),
    ("409--data-group-record-exists", Conflict),
    ("409--device-group-exists", Conflict),
    ("409--ssl-cert-exists", Conflict),
    ("409--ssl-key-exists", Conflict),
    ("500--asynccontext-timeout", DeviceTimeout),
    ("500--mcpd-lost", NotReady),
    ("503--async-task-get", Busy),
    ("503--async-task-write", Busy),
    ("503--restarting-html-13", NotReady),
    ("503--service-unavailable", NotReady),
]


def recorded(name: str) -> tuple[int, str]:
    """Status and text of a recorded error, the text as the client takes it from the body."""
    response = json.loads((RECORDINGS / f"{name}.json").read_text())["response"]
    body = response["body"]
    return response["status"], body if isinstance(body, str) else str(body.get("message") or "")


def test_every_recording_has_a_row():
    """A new recording of an error needs a decision."""
    assert {path.stem for path in RECORDINGS.glob("*.json")} == {name for name, _ in CLASSES}


@rows(("name", "kind"), CLASSES, ids=[name for name, _ in CLASSES])
def test_recorded(name, kind):
    """The class is what an operator can do about it."""
    status, text = recorded(name)
    error = error_for("POST", "/mgmt/tm/x", status, text)
    assert type(error) is kind
    assert (error.method, error.path, error.status) == ("POST", "/mgmt/tm/x", status)
    assert len(error.text) <= errors.EXCERPT
    assert not error.may_have_applied


@pytest.mark.parametrize(("name", "text"), [
    ("401--basic-auth-html", "401 Unauthorized"),
    ("503--restarting-html-13", "BIG-IP® - Configuration Utility restarting..."),
])
def test_page_is_cut_to_its_title(name, text):
    """An HTML page says what matters in its title."""
    assert error_for("GET", "/p", *recorded(name)).text == text


@pytest.mark.parametrize(("status", "text", "kind"), [
    pytest.param(302, "", Unsupported, id="redirect"),
    pytest.param(404, "<html><title>404 Not Found</title>", Unsupported, id="no REST at all"),
    pytest.param(404, "\n<!DOCTYPE html><html><title>404</title>", Unsupported, id="no REST, doctype"),
    pytest.param(500, '<html><meta content="x"><title>Error 500 AsyncContext timeout</title>', DeviceTimeout,
                 id="Jetty page"),
    pytest.param(400, "java.util.concurrent.TimeoutException", DeviceTimeout, id="icrd over 60 s"),
    pytest.param(403, "", AuthFailed, id="forbidden"),
    pytest.param(400, "01070822:3: Access Denied: user (u) does not have modify access to object (rule)",
                 AuthFailed, id="role"),
    pytest.param(400, "01071349:3: File object by name (/Common/x) is in use.", InUse, id="file in use"),
    pytest.param(404, "Found RestWorkerUriNotFoundException", NotReady, id="no worker"),
    pytest.param(502, "", NotReady, id="unknown 5xx"),
])
def test_unrecorded(status, text, kind):
    """Texts that articles and issues quote."""
    assert type(error_for("GET", "/p", status, text)) is kind


@pytest.mark.parametrize(("status", "text", "words"), [
    (302, "redirected to https://sso.example.com", "redirected to https://sso.example.com"),
    (307, "", ""),
    (404, "<html><title>404 Not Found</title>", "404 Not Found"),
])
def test_of_something_else_after_good_replies(status, text, words):
    """A proxy, or Apache that starts: it passes, and nothing is said about the version of TMOS."""
    error = error_for("GET", "/p", status, text, is_known=True)
    assert (type(error), error.text) == (NotReady, words)
    assert type(error_for("GET", "/p", status, text)) is Unsupported


@pytest.mark.parametrize("words", [
    "java.util.concurrent.TimeoutException", "AsyncContext timeout", "01070822:3:", "01071003:3:",
    "There is an active asynchronous task executing.", "can't get object count from mcpd", "<html>",
])
@pytest.mark.parametrize("form", [
    '01071706:3: Policy \'/Common/p\', rule "/{}"; missing operand.', '"values" invalid value "{}"',
])
def test_tenant_does_not_choose_the_class(form, words):
    """A Route's path is echoed in refusals; it must not look like trouble of the whole device."""
    assert type(error_for("POST", "/p", 400, form.format(words))) is Refused


@pytest.mark.parametrize(("text", "left"), [
    (f"cannot read {PEM} sorry", "cannot read [redacted PEM] sorry"),
    (f"cannot read {PEM[:50]}", "cannot read [redacted PEM]"),
    ("MIIEow Zm9v\n-----END RSA PRIVATE KEY----- bad", "[redacted PEM] bad"),
    (f"a {PEM} b {PEM} c", "a [redacted PEM] b [redacted PEM] c"),
    (json.dumps({"key": PEM}), '{"key": "[redacted PEM]"}'),
], ids=["whole", "no end", "no beginning", "two", "escaped"])
def test_no_private_key(text, left):
    """PEM that the device echoes is taken out, also a part of it."""
    assert error_for("POST", "/p", 400, text).text == left


def test_no_secret_but_the_same_class():
    """A password is taken out even if it is a word of the sentence that decides the class."""
    error = error_for("GET", "/p", 503, "There is an active asynchronous task executing.", ["task", "active"])
    assert type(error) is Busy
    assert error.text == "There is an [redacted] asynchronous [redacted] executing."


@pytest.mark.parametrize(("error", "text"), [
    (NotFound("GET", "/mgmt/tm/ltm/pool/~Common~x", "01020036:3: not\n found", status=404),
     "GET /mgmt/tm/ltm/pool/~Common~x: 404 01020036:3: not found"),
    (Unreachable("PATCH", "/p", "refused"), "PATCH /p: refused"),
    (BigIPError(text="x"), "x"),
])
def test_message(error, text):
    """One line for the log and for the Route's status."""
    assert str(error) == text


def test_number():
    """The TMOS message number, also behind the words of a transaction."""
    assert error_for("PATCH", "/p", *recorded("400--transaction-commit-failed-snatpool")).code == "01070320"
    assert error_for("PATCH", "/p", *recorded("400--no-properties")).code == ""
    assert Conflict("POST", "/p", "01020066:3: x").code == "01020066"


# --- key material in replies -------------------------------------------------------------


def _keys() -> list[str]:
    """Private keys in PEM, of each sort that a Route may have."""
    keys = [rsa.generate_private_key(public_exponent=65537, key_size=2048),
            ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())]
    forms = (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL)
    return [key.private_bytes(Encoding.PEM, form, NoEncryption()).decode() for key in keys for form in forms]


def _body(pem: str) -> str:
    return "".join(pem.splitlines()[1:-1])


def _reads_as_words(pem: str) -> bool:
    """One RSA key in some hundred has 24 characters that look like a path; such a piece is shown."""
    body = _body(pem)
    return any(redact_keys(body[at: at + 24]) == body[at: at + 24] for at in range(len(body) - 23))


KEYS = [pem for pem in _keys() if not _reads_as_words(pem)]
QUOTES = ('01070712:3: cannot read "{}" of the file', "{}", "<html><title>{}</title></html>", "key/{}/end",
          'invalid property value "data":"{}"', "unable to load {}=", "/Common/{}", "x{}", "-----END{}",
          "{}\\n")
SEPARATORS = ("", "\n", "\r\n", " ", "\\n", ",", '", "', "/", "-", "_", "\t", "&#10;", "\x00", "=")


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(KEYS), st.integers(1, 80), st.sampled_from(SEPARATORS), st.sampled_from(QUOTES),
       st.booleans(), st.integers(0, 3000), st.integers(1, 3000))
def test_no_part_of_a_key_is_shown(pem, chunk, separator, quote, whole_lines, start, length):
    """A device that quotes a key in its refusal, in whatever pieces: 24 characters in a row are nowhere."""
    body = _body(pem)
    piece = body[start % len(body):][:length]
    if whole_lines:
        piece = "\n".join(pem.splitlines()[1:-1])[start % len(body):][:length]
    text = quote.format(separator.join(piece[at: at + chunk] for at in range(0, len(piece), chunk)))
    errors = [error_for("POST", "/mgmt/tm/sys/file/ssl-key", 400, text), UploadError(text),
              Refused("POST", "ltm/virtual", text, status=400)]
    for shown in (*map(str, errors), *map(repr, errors), *(error.text for error in errors), printable(text)):
        assert not [at for at in range(len(body) - 23) if body[at: at + 24] in shown]


@rows("name", [name for name, _ in CLASSES])
def test_no_recorded_refusal_is_taken_for_a_key(name):
    """The random name of a temporary folder is hidden, not its path."""
    text = error_for("POST", "x", *recorded(name)).text
    assert "[redacted]" not in text.replace("/var/system/tmp/tmsh/[redacted]/company.com.chain", "")


@pytest.mark.parametrize("text", [
    "01020036:3: The requested Pool (/OpenShift/applications/zone/production/openshift_a_b) was not found.",
    "Found unexpected URI tmapi_mapper/mgmt/tm/ltm/profile/client/ssl/certificate/authority.",
    "unknown SSH host key ssh-ed25519 SHA256:uNiVztksCsDhcc0u9e8BrWH6GKKKyDVzGxBOdSaT5Jw; give it with",
    "Unable to copy (/var/tmp/f5router_0123456789abcdef_0123456789abcdef_1_1700000000_01234567.key)",
    "01070734:3: /Common/openshift_route_averyveryverylongnamespace_name-https-key-0123456789abcdef.key",
    "Authorization failed: user=https://localhost/mgmt/shared/authz/users/u resource=/mgmt/tm/util/unix-ls",
])
def test_paths_and_names_stay(text):
    """An operator needs them to find the object."""
    assert BigIPError("POST", "x", text).text == text

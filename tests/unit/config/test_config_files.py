"""Files that settings name: credentials, certificates and keys."""

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from f5router.config.config import load
from f5router.config.files import SERVICE_CA
from f5router.config.options import OPTIONS
from f5router.model.errors import ConfigError
from tests.unit.config.loading import ENV, HOST, config, files, problems

CERT = """-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUR1kXFMVZ4J0q8w4wJ8lJ3m0mF3AwCgYIKoZIzj0EAwIw
-----END CERTIFICATE-----
"""


def pem(key, form=PrivateFormat.PKCS8, encryption=None) -> str:
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


ED25519 = ed25519.Ed25519PrivateKey.generate()
KEY = pem(ED25519, PrivateFormat.OpenSSH)


@pytest.fixture(scope="module")
def ca() -> str:
    """A self-signed certificate, PEM."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ca")])
    now = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    cert = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, SHA256())
    )
    return cert.public_bytes(Encoding.PEM).decode()


@pytest.mark.parametrize(("env", "flags", "texts", "expected"), [
    pytest.param({"USERNAME": None, "USERNAME_FILE": "/u"}, {}, {"u": "file"}, "file", id="file alone"),
    pytest.param({"USERNAME": None, "CREDENTIALS_DIR": "/d"}, {}, {"d_username": "dir\n"}, "dir",
                 id="directory alone"),
    pytest.param({"CREDENTIALS_DIR": "/d"}, {}, {"d_username": "admin\n"}, "admin", id="the same twice"),
    pytest.param({"CREDENTIALS_DIR": "/d"}, {}, {"d_password": ENV[HOST + "PASSWORD"]}, "admin",
                 id="not in the directory"),
    pytest.param({"USERNAME_FILE": "/u"}, {"f5_username": "flag"}, {"u": "file"}, "flag",
                 id="flag before file of a variable"),
    pytest.param({"USERNAME_FILE": "/u"}, {"f5_credentials_dir": "/d"}, {"u": "file", "d_username": "dir"},
                 "dir", id="directory of a flag before file of a variable"),
    pytest.param({}, {"f5_username": "flag", "f5_username_file": "/u"}, {"u": "file"}, "flag",
                 id="the flag itself before a file"),
    pytest.param({}, {"f5_username": "flag", "f5_credentials_dir": "/d"}, {"d_username": "dir"}, "flag",
                 id="the flag itself before the directory"),
])
def test_username_source(env, flags, texts, expected):
    """The flag itself, then a file that a flag names, then variables."""
    settings = config({HOST + name: text for name, text in env.items()}, files(**texts), **flags)
    assert settings.bigip.username == expected


@pytest.mark.parametrize(("env", "flags", "texts", "names"), [
    pytest.param({"USERNAME_FILE": "/u"}, {}, {"u": "file"}, ["f5-username-file", "f5-username"],
                 id="variables: file and text"),
    pytest.param({"CREDENTIALS_DIR": "/d"}, {}, {"d_username": "dir"},
                 ["f5-credentials-dir", "f5-username"],
                 id="variables: directory and text"),
    pytest.param({}, {"f5_username_file": "/u", "f5_credentials_dir": "/d"},
                 {"u": "file", "d_username": "dir"}, ["f5-username-file", "f5-credentials-dir"],
                 id="flags: file and directory"),
])
def test_sources_that_contradict_each_other(env, flags, texts, names):
    """Which one is right cannot be known: nothing is sent to a BIG-IP that may be the wrong one."""
    (problem,) = problems({HOST + name: text for name, text in env.items()}, files(**texts), **flags)
    labels = ", ".join(OPTIONS[name].label for name in names)
    assert problem == f"{labels}: their values differ; set only one of them"


def test_credentials_directory():
    """A bigip-login Secret alone is enough."""
    environ = {HOST + "CREDENTIALS_DIR": "/d"}
    settings = load({}, environ, files(d_username="u\n", d_password=" p w \n", d_url="https://b:8443\n"))
    assert (settings.bigip.username, settings.bigip.password) == ("u", " p w ")
    assert settings.bigip.base_url == "https://b:8443"
    assert settings.warnings == ()


def test_units_of_a_pair():
    """Several addresses in the Secret or the variable; only the address differs between their connections."""
    environ = {HOST + "CREDENTIALS_DIR": "/d", HOST + "HOSTNAME": "b:8443,[2001:db8::1]"}
    settings = load({}, environ, files(d_username="u", d_password="p", d_url="https://b:8443, 2001:db8::1\n"))
    assert settings.bigip_names == "b:8443, [2001:db8::1]"
    (first, ssh), (second, other_ssh) = map(settings.unit_settings, (0, 1))
    assert (first, ssh) == (settings.bigip, settings.ssh)
    assert (second.base_url, other_ssh.host) == ("https://[2001:db8::1]", "2001:db8::1")
    assert (second.username, other_ssh.username) == ("u", "u")


def test_credentials_directory_incomplete():
    """The problem names both places where a value could be: the directory and the setting."""
    with pytest.raises(ConfigError) as caught:
        load({}, {HOST + "CREDENTIALS_DIR": "/d", HOST + "HOSTNAME": "a"}, files(d_username="u"))
    assert caught.value.problems == (
        f"{OPTIONS['f5-password'].label}, {OPTIONS['f5-credentials-dir'].label}: "
        "the password is missing; it may also come from --f5-credentials-dir",)


def test_host_and_url_of_the_directory():
    """The host of a flag is programmed, whatever an old Secret says; a contradiction is refused."""
    texts = files(d_url="https://other")
    assert config({}, texts, f5_host="a", f5_credentials_dir="/d").bigip.host == "a"
    assert problems({HOST + "CREDENTIALS_DIR": "/d"}, texts) == (
        f"{OPTIONS['f5-credentials-dir'].label}, {OPTIONS['f5-host'].label}: their values differ; "
        "set only one of them",)


def test_directory_is_not_unused():
    """A directory that another setting goes before is no warning: it may serve for its other files."""
    environ = {HOST + "CREDENTIALS_DIR": "/d"}
    read = files(u="u", d_username="x", d_password="p w", d_url="b")
    settings = load({"f5-username-file": "/u"}, environ, read)
    assert (settings.bigip.username, settings.warnings) == ("u", ())


def test_a_directory_that_is_not_there():
    """The mount that is missing is named, not only what it would have held."""
    refusals = problems({HOST + "CREDENTIALS_DIR": "/d"}, files(d="a file"))
    assert refusals == (f"{OPTIONS['f5-credentials-dir'].label}: '/d' is not a directory",)
    refusals = problems({HOST + "CREDENTIALS_DIR": "/nowhere"})
    assert refusals == (f"{OPTIONS['f5-credentials-dir'].label}: the directory '/nowhere' does not exist",)


@pytest.mark.parametrize(("texts", "word"), [
    pytest.param({}, "No such file", id="missing"),
    pytest.param({"p": PermissionError(13, "Permission denied")}, "Permission denied", id="forbidden"),
    pytest.param({"p": "\n"}, "empty", id="empty"),
    pytest.param({"p": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")}, "UTF-8", id="binary"),
    pytest.param({"p": "a\nb\n"}, "control characters", id="two lines"),
])
def test_bad_password_file(texts, word):
    """One problem, that does not show the path: it may be the password, put into the wrong setting."""
    (problem,) = problems({HOST + "PASSWORD_FILE": "/p"}, files(**texts))
    assert problem.startswith("--f5-password-file / ROUTER_EXTERNAL_HOST_PASSWORD_FILE: ")
    assert word in problem
    assert "/p" not in problem.partition(": ")[2]


@pytest.mark.parametrize("name", ["f5-ca-bundle", "default-destination-ca-path", "f5-ssh-known-hosts",
                                  "config", "f5-username-file"])
def test_unreadable_file(name):
    """A file that is named must be readable."""
    (problem,) = problems(**{name: "/nowhere"})
    assert problem == f"{OPTIONS[name].label}: cannot read '/nowhere': No such file or directory"


def test_content_instead_of_path():
    """A key in place of its path is refused and not printed."""
    (problem,) = problems({HOST + "PRIVKEY": KEY})
    assert "path" in problem
    assert KEY.splitlines()[1] not in problem


def test_files_that_are_named():
    """known_hosts and kubeconfig are passed on as paths."""
    settings = config({}, files(k="host key", c="apiVersion: v1"), f5_ssh_known_hosts="/k", config="/c")
    assert (settings.ssh.known_hosts, settings.kube.kubeconfig) == ("/k", "/c")


def test_read_text(tmp_path):
    """Without read_file, files are those of the file system."""
    (tmp_path / "password").write_text("from-a-file\n")
    settings = load({"f5-password-file": str(tmp_path / "password")}, {**ENV, HOST + "PASSWORD": ""})
    assert settings.bigip.password == "from-a-file"
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        load({"f5-password-file": str(tmp_path / "binary")}, ENV)
    with pytest.raises(ConfigError, match="cannot read"):
        load({"f5-password-file": str(tmp_path)}, ENV)


def test_verify(ca):
    """True, a path, or False with a warning."""
    assert config().bigip.verify is True
    assert config({}, files(ca=ca), f5_ca_bundle="/ca").bigip.verify == "/ca"
    settings = config({}, files(ca=ca), f5_ca_bundle="/ca", f5_insecure="true")
    assert settings.bigip.verify is False
    assert [w.split(" ")[0] for w in settings.warnings] == ["--f5-insecure", "--f5-ca-bundle"]


@pytest.mark.parametrize("name", ["f5-ca-bundle", "default-destination-ca-path"])
@pytest.mark.parametrize("text", ["", "no PEM", CERT], ids=["empty", "no PEM", "broken"])
def test_bad_certificates(name, text):
    """A bundle without a good certificate is a problem."""
    (problem,) = problems({}, files(ca=text), **{name: "/ca"})
    assert problem.startswith(OPTIONS[name].label + ": ")


def test_default_destination_ca(ca):
    """The certificates alone: neither the text around them nor a key."""
    key = pem(ED25519)
    settings = config({"DEFAULT_DESTINATION_CA_PATH": "/ca"}, files(ca=f"# note\n{ca}\n{key}{ca}"))
    assert settings.default_destination_ca == ca + ca
    assert settings.redacted()["default_destination_ca"] == "2 certificates"
    assert (settings.destination_ca_path, settings.unverified_pods) == ("/ca", False)


@pytest.mark.parametrize(("text", "shown", "warnings"), [
    ("", (True, SERVICE_CA, False), ()),
    ("none", (False, "", True), ("are not verified",)),
], ids=["nothing", "none"])
def test_service_ca(text, shown, warnings):
    """OpenShift's authority is the default; `none` is the only word for no verification."""
    settings = config({"DEFAULT_DESTINATION_CA_PATH": text})
    assert (bool(settings.default_destination_ca), settings.destination_ca_path,
            settings.unverified_pods) == shown
    assert len(settings.warnings) == len(warnings)
    assert all(words in warning for words, warning in zip(warnings, settings.warnings, strict=True))


def test_no_service_ca():
    """Nobody said that pods need not be verified: those Routes are not served, and start says so."""
    settings = config({}, files(service_ca=None))
    assert (settings.default_destination_ca, settings.unverified_pods) == ("", False)
    assert settings.destination_ca_path == SERVICE_CA
    (warning,) = settings.warnings
    assert "are not served" in warning


@pytest.mark.parametrize("text", ["", "no PEM", CERT, PermissionError(13, "Permission denied")],
                         ids=["empty", "no PEM", "broken", "refused"])
def test_bad_service_ca(text):
    (problem,) = problems({}, files(service_ca=text))
    assert problem.startswith(OPTIONS["default-destination-ca-path"].label + ": ")
    assert SERVICE_CA in problem


@pytest.mark.parametrize(("key", "upload", "expected"), [
    ("none", None, "rest"), ("missing", None, "rest"), ("present", None, "ssh"),
    ("present", "auto", "ssh"), ("present", "ssh", "ssh"), ("present", "rest", "rest"),
    ("none", "rest", "rest"), ("missing", "rest", "rest"),
])
def test_cert_upload(key, upload, expected):
    """auto is ssh where the key is configured and present."""
    env = {} if key == "none" else {HOST + "PRIVKEY": "/etc/secret-volume/router.pem"}
    read = files(**{"etc_secret-volume_router.pem": KEY}) if key == "present" else files()
    settings = config(env, read, cert_upload=upload)
    assert settings.cert_upload == expected
    assert (settings.ssh.private_key is not None) is (key == "present")


def test_missing_key_warns():
    """`oc adm router` names a key file always (openshift/origin v3.11.0,
    pkg/oc/cli/admin/router/router.go)."""
    settings = config({HOST + "PRIVKEY": "/etc/secret-volume/router.pem"})
    assert settings.ssh.private_key is None
    (warning,) = settings.warnings
    assert warning.startswith("--f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY: ")


@pytest.mark.parametrize("env", [{}, {HOST + "PRIVKEY": "/missing"}], ids=["none", "missing"])
def test_ssh_needs_a_key(env):
    """ssh by name cannot do without."""
    (problem,) = problems(env, cert_upload="ssh")
    assert problem.startswith("--cert-upload / ROUTER_CERT_UPLOAD, --f5-private-key / ")


GOOD_KEYS = {
    "rsa pem": lambda: pem(rsa.generate_private_key(65537, 2048), PrivateFormat.TraditionalOpenSSL),
    "ec pkcs8": lambda: pem(ec.generate_private_key(ec.SECP256R1())),
    "ed25519 openssh": lambda: KEY,
    "ed25519 pkcs8": lambda: pem(ED25519),
}
BAD_KEYS = {
    "empty": lambda: "", "text": lambda: "not a key",
    "cut": lambda: KEY[:80],
    "passphrase": lambda: pem(ED25519, encryption=BestAvailableEncryption(b"x")),
    "openssh passphrase": lambda: pem(ED25519, PrivateFormat.OpenSSH, BestAvailableEncryption(b"x")),
    "dsa": lambda: pem(dsa.generate_private_key(1024)),
    "forbidden": lambda: PermissionError(13, "Permission denied"),
}
"""Functions: some keys take long, and each process of the tests would make all of them."""


@pytest.mark.parametrize("make", GOOD_KEYS.values(), ids=GOOD_KEYS)
def test_private_key(make):
    """The kinds and forms that icontrol.ssh reads."""
    assert config({}, files(key=make()), f5_private_key="/key").ssh.private_key == "/key"


@pytest.mark.parametrize("make", BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_private_key(make):
    """A key that is there and cannot be used is a problem that tells nothing of it."""
    (problem,) = problems({}, files(key=make()), f5_private_key="/key")
    assert problem.startswith("--f5-private-key / ROUTER_EXTERNAL_HOST_PRIVKEY: ")
    assert "\n" not in problem
    assert "BEGIN" not in problem


@pytest.mark.parametrize(("flags", "words"), [
    pytest.param({}, "no SSH host key is accepted", id="nothing to check it against"),
    pytest.param({"f5_ssh_insecure": "true"}, "host key is not verified", id="insecure"),
    pytest.param({"f5_ssh_host_key": "SHA256:" + "a" * 43}, None, id="fingerprint"),
    pytest.param({"f5_ssh_known_hosts": "/known"}, None, id="known_hosts"),
    pytest.param({"cert_upload": "rest"}, None, id="no ssh"),
])
def test_host_key_warning(flags, words):
    """A warning at start says that the SSH host key cannot be checked."""
    warnings = config({}, files(key=KEY, known="b ssh-rsa A"), f5_private_key="/key", **flags).warnings
    assert [words in warning for warning in warnings] == ([True] if words else [])

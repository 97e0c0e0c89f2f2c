"""known_hosts lines, fingerprints, and the words of a refusal."""

import subprocess

import pytest

from f5router.icontrol.uploads.hostkeys import (
    OPTIONS,
    HostKey,
    HostKeyPolicy,
    KnownHosts,
    host_name,
    parse_fingerprint,
    read_known_hosts,
)
from tests.unit.icontrol.uploads.openssh import require

SHA256 = "SHA256:" + "Ab1+/" * 8 + "xyz"
MD5 = ":".join(["0a"] * 16)
KEY = HostKey("ssh-ed25519", b"one key")
OTHER = HostKey("ssh-rsa", b"another key")
LINE = "ssh-ed25519 b25lIGtleQ=="


@pytest.mark.parametrize(("text", "normal"), [
    pytest.param(SHA256, SHA256, id="as ssh-keygen prints it"),
    pytest.param(f" {SHA256}= ", SHA256, id="padding and blanks"),
    pytest.param(MD5, MD5, id="MD5"),
    pytest.param(f"MD5:{MD5.upper()}", MD5, id="MD5 with its name, capitals"),
])
def test_parse_fingerprint(text, normal):
    """Every usual form becomes the one that HostKey shows."""
    assert parse_fingerprint(text) == normal


@pytest.mark.parametrize("text", ["", "SHA256:", SHA256[:-1], SHA256 + "x", MD5[3:], "sha256 " + SHA256])
def test_parse_fingerprint_refuses(text):
    """A text that is no fingerprint is an error, not a key that never matches."""
    with pytest.raises(ValueError, match="not a host key fingerprint"):
        parse_fingerprint(text)


@pytest.mark.parametrize("line", [
    pytest.param(f"f5.example.com {LINE}", id="name"),
    pytest.param(f"F5.Example.COM {LINE} a comment", id="capitals, comment"),
    pytest.param(f"10.0.0.1,f5.example.com\t{LINE}", id="one of several names, tab"),
    pytest.param(f"*.example.com {LINE}", id="star"),
    pytest.param(f"f?.example.com {LINE}", id="question mark"),
    pytest.param(f"!a.example.com,*.example.com {LINE}", id="other name excepted"),
])
def test_known_host(tmp_path, line):
    """A line about the host, whatever its form, makes its key acceptable."""
    path = tmp_path / "known_hosts"
    path.write_text(f"# comment\n\n{line}\n")
    assert read_known_hosts(str(path), "F5.example.com", 22).accepted == {KEY}


@pytest.mark.parametrize("line", [
    pytest.param(f"f5.example.org {LINE}", id="other name"),
    pytest.param(f"[f5.example.com]:2222 {LINE}", id="other port"),
    pytest.param(f"*.example.com,!f5.example.com {LINE}", id="excepted"),
    pytest.param(f"@cert-authority f5.example.com {LINE}", id="certificate authority"),
    pytest.param("f5.example.com ssh-ed25519", id="no key"),
    pytest.param("f5.example.com ssh-ed25519 ***", id="broken key"),
    pytest.param(f"|1|broken {LINE}", id="broken hash"),
])
def test_other_host(tmp_path, line):
    """Other lines, and broken ones, accept nothing and do not hide the next line."""
    path = tmp_path / "known_hosts"
    path.write_text(f"{line}\nf5.example.com ssh-rsa YW5vdGhlciBrZXk=\n")
    assert read_known_hosts(str(path), "f5.example.com", 22) == KnownHosts(frozenset({OTHER}))


@pytest.mark.parametrize(("host", "port"), [
    ("f5.example.com", 22), ("10.3.89.90", 2222), ("2001:db8::1", 22),
])
def test_hashed_host(tmp_path, host, port):
    """Names that ssh-keygen -H has hashed are found again; others are not."""
    path = tmp_path / "known_hosts"
    real = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJGZ6Nmv7sSxWjXsnbGCOYxBIUuHYLbl8mFdbqCqYGq"
    path.write_text(f"{host_name(host, port)} {real}\n")
    subprocess.run([require("ssh-keygen"), "-q", "-H", "-f", path], check=True, capture_output=True)
    assert path.read_text().startswith("|1|")
    assert [key.kind for key in read_known_hosts(str(path), host, port).accepted] == ["ssh-ed25519"]
    assert not read_known_hosts(str(path), host, port + 1).accepted


def test_fingerprints_are_those_of_ssh_keygen(openssh, tmp_path):
    """SHA256 and MD5 equal what ssh-keygen prints for the same key."""
    path = tmp_path / "known_hosts"
    path.write_text(openssh.known_hosts)
    keys = read_known_hosts(str(path), "127.0.0.1", openssh.port).accepted
    assert {key.sha256 for key in keys} == set(openssh.fingerprints.values())
    listed = subprocess.run([require("ssh-keygen"), "-l", "-E", "md5", "-f", path], check=True,
                            capture_output=True, text=True).stdout
    assert {f"MD5:{key.md5}" for key in keys} == {line.split()[1] for line in listed.splitlines()}


@pytest.mark.parametrize(("policy", "accepted"), [
    pytest.param({}, False, id="nothing known"),
    pytest.param({"known": KnownHosts(frozenset({KEY}))}, True, id="in known_hosts"),
    pytest.param({"known": KnownHosts(frozenset({OTHER}))}, False, id="another in known_hosts"),
    pytest.param({"known": KnownHosts(frozenset({KEY}), frozenset({KEY}))}, False, id="revoked"),
    pytest.param({"fingerprints": frozenset({KEY.sha256})}, True, id="SHA256"),
    pytest.param({"fingerprints": frozenset({KEY.md5})}, True, id="MD5"),
    pytest.param({"fingerprints": frozenset({OTHER.sha256})}, False, id="other fingerprint"),
    pytest.param({"fingerprints": frozenset({OTHER.sha256}), "known": KnownHosts(frozenset({KEY}))}, False,
                 id="fingerprint decides alone"),
    pytest.param({"fingerprints": frozenset({KEY.sha256}), "known": KnownHosts(revoked=frozenset({KEY}))},
                 False, id="revoked, whatever the fingerprint"),
    pytest.param({"insecure": True}, True, id="insecure"),
])
def test_policy(policy, accepted):
    """A key is accepted only where the operator has named it."""
    assert HostKeyPolicy("f5", **policy).accepts(KEY) is accepted


@pytest.mark.parametrize(("policy", "first"), [
    ({}, "unknown"),
    ({"known": KnownHosts(frozenset({OTHER}))}, "changed"),
    ({"fingerprints": frozenset({OTHER.sha256})}, "changed"),
    ({"known": KnownHosts(revoked=frozenset({HostKey("ecdsa-sha2-nistp256", b"k")}))}, "revoked"),
])
def test_refusal_is_not_cut(policy, first):
    """Fingerprint and options are within the length that an exception keeps."""
    key = HostKey("ecdsa-sha2-nistp256", b"k")
    text = str(HostKeyPolicy("f5", **policy).refusal([key]))
    assert text.startswith(f"{first} SSH host key")
    assert key.sha256 in text
    assert OPTIONS in text
    assert text.endswith(" (or --f5-ssh-insecure)") == (first == "unknown")

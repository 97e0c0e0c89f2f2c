"""Server names for which there is a certificate: which records there are, and when others are refused."""

from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from f5router.model import names
from f5router.model.client_tls import TLSFiles, TLSKeyPair
from f5router.model.ltm import Attachment, DataGroup, Record, Rule
from f5router.plan.change import UPDATE, Stage, stage
from f5router.plan.diff import diff
from tests.builders import EPOCH, FACTS, Identity, Settings, authority, identity, route, snapshot
from tests.hostile_certificates import certificate
from tests.reference.full_build import build

GROUP = f"/Common/{names.SERVER_NAME_GROUP}"


def default(common: str = "site.example.com", *alternative: str) -> TLSFiles:
    """Return a default certificate with these names."""
    issuer, issuer_key = authority()
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)]))
        .issuer_name(issuer.subject).public_key(key.public_key()).serial_number(1)
        .not_valid_before(EPOCH).not_valid_after(EPOCH.replace(year=EPOCH.year + 10)))
    if alternative:
        extension = x509.SubjectAlternativeName([x509.DNSName(name) for name in alternative])
        builder = builder.add_extension(extension, critical=False)
    pem = builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    return TLSFiles(TLSKeyPair(pem, "", "KEY", "PUBLIC"))


def forged(pair: Identity) -> TLSFiles:
    return TLSFiles(TLSKeyPair(pair.certificate, "", "KEY", "PUBLIC"))


STRICT = Settings(strict_sni=True, tls_files=default())
OWN = route("own", host="own.example.com", kind="edge", **identity("own.example.com").tls)


def records(config, *objects, facts=FACTS) -> dict[str, Record]:
    """Records of the data-group by their names."""
    built = build(snapshot(*objects), config, facts).objects
    return {obj.name: obj for obj in built.values() if isinstance(obj, Record) and obj.group == GROUP}


@pytest.mark.parametrize(("files", "expected"), [
    pytest.param(default("Site.example.com"), {"site.example.com"}, id="common name alone"),
    pytest.param(default("a.example.com", "*.Apps.example.com", "b.example.com"),
                 {"a.example.com", ".apps.example.com", "b.example.com"}, id="both"),
    pytest.param(default("Example Ltd.", "*.*.example.com", "a*.example.com", "c.example.com"),
                 {"c.example.com"}, id="what is no name of a host"),
    pytest.param(forged(certificate(b"\xff", names=(b"d.example.com",))), {"d.example.com"},
                 id="a subject that does not parse"),
    pytest.param(forged(certificate(b"e.example.com", names=(b"\xff",))), {"e.example.com"},
                 id="alternative names that do not parse"),
])
def test_names_of_the_default_certificate(files, expected):
    assert set(records(replace(STRICT, tls_files=files))) == {*expected, names.STRICT}


def test_names_of_hosts_and_of_the_administrator():
    wild = route("wild", host="any.wild.example.com", kind="edge", wildcard=True,
                 **identity("*.wild.example.com").tls)
    facts = replace(FACTS, https=replace(FACTS.https, server_names=frozenset(
        {"theirs.example.com", "*.theirs.example.com", "no name"})))
    config = replace(STRICT, admission=replace(STRICT.admission, wildcards=True))
    listed = records(config, OWN, wild, route("bare", kind="edge"), route("plain"), facts=facts)
    assert set(listed) == {"own.example.com", ".wild.example.com", "site.example.com", "theirs.example.com",
                          ".theirs.example.com", names.STRICT}
    assert {record.data for name, record in listed.items() if name != names.STRICT} == {names.CERTIFICATE}


@pytest.mark.parametrize("config", [
    pytest.param(Settings(tls_files=default()), id="off"),
    pytest.param(replace(STRICT, https_virtual=None), id="no virtual server for HTTPS")])
def test_without_the_setting_nothing_is_there(config):
    built = build(snapshot(OWN), config, FACTS).objects
    assert not [ref for ref in built if names.SERVER_NAME_GROUP in ref.path]
    assert not [obj for obj in built.values() if names.SERVER_NAME_GROUP in getattr(obj, "text", "")]


def test_without_a_default_certificate_nobody_is_refused():
    assert set(records(replace(STRICT, tls_files=TLSFiles()), OWN)) == {"own.example.com"}


def test_a_host_gets_requests_when_its_name_is_known():
    built = build(snapshot(OWN), STRICT, FACTS).objects
    (rule,) = (obj for obj in built.values() if isinstance(obj, Rule))
    record = records(STRICT, OWN)["own.example.com"]
    (attached,) = record.extra_dependencies
    assert isinstance(built[attached], Attachment)
    assert record.ref in rule.dependencies
    assert stage(built[attached]) < stage(record) < stage(rule) < stage(records(STRICT)[names.STRICT])


def test_others_are_refused_when_the_names_of_all_that_is_served_are_there():
    """A Host whose certificate is not on the device holds nobody up."""
    cluster = OWN, route("late", host="late.example.com", kind="edge", **identity("late.example.com").tls)
    wanted = build(snapshot(*cluster), STRICT, FACTS).objects
    before = build(snapshot(OWN), replace(STRICT, strict_sni=False), FACTS).objects
    plan = diff(wanted, before, lambda obj: True)
    assert plan[-1].stage is Stage.COMPLETE
    needs = {ref.path.rpartition("/")[2] for ref in plan[-1].new.dependencies if GROUP in ref.path}
    assert needs == {names.SERVER_NAME_GROUP, "own.example.com", "site.example.com"}
    (irule,) = (change for change in plan if change.verb == UPDATE)
    assert DataGroup(GROUP).ref in irule.new.dependencies


def test_the_profile_of_another_maker_counts():
    """The original router serves a Host until our profile takes its place."""
    facts = replace(FACTS, https=replace(FACTS.https, original_client_ssl=(
        ("own.example.com", "/Common/original"),)))
    plan = diff(build(snapshot(OWN), STRICT, facts).objects, {}, lambda obj: True)
    assert records(STRICT, OWN)["own.example.com"].ref in plan[-1].new.dependencies

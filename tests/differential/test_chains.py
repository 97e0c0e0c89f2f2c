"""Certificates that a client is sent, from wherever a Route has them: our router against HAProxy's."""

import base64
import re
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests import manifests
from tests.builders import authority, identity, signed
from tests.differential.conftest import Pair, Router
from tests.traffic.conftest import PODS, Site
from tests.waiting import DEADLINE_S

ROOT, MIDDLE, DEFAULT = "Example CA", "Middle CA", "default.example.com"
OTHER = identity("x", ca="Other CA").issuer
EXPECTED = {
    "alone": ["alone"], "ca": ["ca", MIDDLE], "whole": ["whole", MIDDLE, ROOT],
    "inside": ["inside", MIDDLE], "both": ["both", MIDDLE, ROOT],
    "stranger": ["stranger", MIDDLE, "Other CA"],
    "with-key": ["with-key"], "key-alone": [DEFAULT], "nothing": [DEFAULT], "external": ["external"],
    "external-chain": ["external-chain", MIDDLE], "missing": [DEFAULT], "reencrypt": ["reencrypt", MIDDLE],
}
"""First label of a host: common names of what its clients get, that of the Route without its domain."""


def pem(certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def secret(name: str, certificate: str, key: str) -> dict:
    texts = {"tls.crt": certificate, "tls.key": key}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "shop", "name": name},
            "data": {entry: base64.b64encode(text.encode()).decode() for entry, text in texts.items()}}


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.2.1.1", port=8443, tls=PODS)
    root, root_key = authority(ROOT)
    middle_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    middle = pem(signed(MIDDLE, middle_key.public_key(), ROOT, root_key, ca=True))
    whole = middle + pem(root)
    own = {name: pem(signed(f"{name}.example.com", key.public_key(), MIDDLE, middle_key))
           for name in EXPECTED}

    def add(name: str, kind: str = "edge", **tls) -> None:
        fields = {"certificate": own[name], "key": text, **tls}
        given = {field: value for field, value in fields.items() if value}
        site.apply(manifests.route(name, host=f"{name}.example.com", kind=kind,
                                   service="tls" if kind == "reencrypt" else "web", **given))

    add("alone")
    add("ca", caCertificate=middle)
    add("whole", caCertificate=whole)
    add("inside", certificate=own["inside"] + middle)
    add("both", certificate=own["both"] + middle, caCertificate=pem(root))
    add("stranger", caCertificate=middle + OTHER)
    add("with-key", certificate=own["with-key"] + text, key="")
    add("key-alone", certificate="")
    add("nothing", certificate="", key="")
    add("reencrypt", "reencrypt", caCertificate=middle, destinationCACertificate=PODS.issuer)
    site.apply(secret("external", own["external"], text),
               secret("external-chain", own["external-chain"] + middle, text))
    for name in ("external", "external-chain", "missing"):
        add(name, certificate="", key="", externalCertificate={"name": name})


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build)


def chain(router: Router, host: str) -> list[str]:
    """Return the common names of the certificates that a client gets, in their order."""
    shown = subprocess.run(
        ["openssl", "s_client", "-connect", "{}:{}".format(*router.https), "-servername", host, "-showcerts"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S)
    return re.findall(r"^ *\d+ s:CN ?= ?(.*)$", shown.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", EXPECTED)
def test_certificates_of_a_route(pair, name):
    first, *others = EXPECTED[name]
    theirs, ours = pair.both(lambda router: chain(router, f"{name}.example.com"))
    assert ours == theirs == [first if first == DEFAULT else f"{first}.example.com", *others]

"""Certificates with names that nobody sane writes, put together byte by byte: of any type and encoding.

Their signature is of something else, which matters to nobody who does not verify it.
"""

import base64
import functools
import random
from collections.abc import Iterator

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.builders import Identity
from tests.hostile import TEXTS

UTF8, PRINTABLE, T61, IA5, UNIVERSAL, BMP = 0x0C, 0x13, 0x14, 0x16, 0x1C, 0x1E
"""Types of texts. Source: ITU-T X.680, 8.4, with RFC 5280, 4.1.2.4."""

ENCODINGS = {UTF8: "utf-8", PRINTABLE: "utf-8", T61: "latin-1", IA5: "utf-8", UNIVERSAL: "utf-32-be",
             BMP: "utf-16-be"}
ODD_TYPES = (0x02, 0x03, 0x05, 0x17, 0x30)
"""Numbers, bits, nothing, a time and a sequence in the place of a text."""

COMMON_NAME, ECDSA, SAN = b"\x55\x04\x03", b"\x2a\x86\x48\xce\x3d\x04\x03\x02", b"\x55\x1d\x11"
SUBJECTS = (
    "<script>alert(1)</script>", "</script>", "<img src=x onerror=\"document.title='taken'\">",
    "a\x1b[2J\x1b]0;title\x07", "\u202egpj.\u2066x", "a\n2026-01-01T00:00:00.000Z ERROR f5router forged",
    "[exit]", "$x", "`id`", "a,b+c=d\\\"#;<>", "\x00", "ü" * 3000, "\u200b" * 3000, "x" * 32_000,
)


def certificate(subject: bytes, *, kind: int = UTF8, issuer: bytes = b"CA", names: tuple[bytes, ...] = (),
                ) -> Identity:
    """Return a certificate and its key. Args: kind: type of the subject and the issuer."""
    key, public = _key()
    algorithm = _der(0x30, _der(0x06, ECDSA))
    alternative = _der(0x30, *(_der(0x82, name) for name in names))
    extension = _der(0x30, _der(0x06, SAN), _der(0x04, alternative))
    signed = _der(0x30, _der(0xA0, _der(0x02, b"\2")), _der(0x02, b"\1"), algorithm, _name(kind, issuer),
                  _der(0x30, _der(0x17, b"250101000000Z"), _der(0x17, b"450101000000Z")),
                  _name(kind, subject), public, *([_der(0xA3, _der(0x30, extension))] if names else []))
    whole = _der(0x30, signed, algorithm, _der(0x03, b"\0" + b"\x30\6\2\1\1\2\1\1"))
    text = base64.encodebytes(whole).decode()
    return Identity(f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n", key)


def many(seed: int, count: int) -> Iterator[Identity]:
    """That many, with subjects, issuers and alternative names that are texts of all types, or no texts."""
    dice = random.Random(seed)
    texts = (*TEXTS, *SUBJECTS)
    for _ in range(count):
        kind = dice.choice(tuple(ENCODINGS))
        text, other = dice.choices(texts, k=2)
        subject, issuer = (each.encode(ENCODINGS[kind], "surrogatepass" if kind != T61 else "replace")
                           for each in (text, other))
        if dice.random() < 0.1:
            kind, subject = dice.choice((kind, *ODD_TYPES)), dice.randbytes(dice.randrange(40))
        names = tuple(each.encode("ascii", "replace") for each in dice.choices(texts, k=dice.randrange(4)))
        yield certificate(subject, kind=kind, issuer=issuer, names=names)


def _name(kind: int, text: bytes) -> bytes:
    return _der(0x30, _der(0x31, _der(0x30, _der(0x06, COMMON_NAME), _der(kind, text))))


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = (length.bit_length() + 7) // 8
    return bytes((tag, 0x80 | size)) + length.to_bytes(size, "big") + content


@functools.cache
def _key() -> tuple[str, bytes]:
    """Return a key in PEM, and its public part in DER."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem.decode(), key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)

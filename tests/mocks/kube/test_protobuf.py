"""Secrets as protobuf, as Helm sends them; more of it, by Helm itself, is in e2e/test_release."""

import base64

import pytest

from mocks.kube import protobuf


def field(number: int, content: bytes) -> bytes:
    """A field of bytes, shorter than 128."""
    return bytes([number << 3 | 2, len(content)]) + content


def message(kind: str = "Secret") -> bytes:
    metadata = (field(1, b"s") + field(3, b"shop") + field(11, field(1, b"a") + field(2, b"b"))
                + b"\x38\xac\x02" + field(12, field(1, b"c") + field(2, b"d")))
    inner = field(1, metadata) + field(2, field(1, b"key") + field(2, b"\0\xff")) + field(3, b"Opaque")
    return b"k8s\0" + field(1, field(1, b"v1") + field(2, kind.encode())) + field(2, inner)


def test_a_secret():
    """Numbers, such as the generation, are passed over."""
    assert protobuf.secret(message()) == {
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "s", "namespace": "shop", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "data": {"key": base64.b64encode(b"\0\xff").decode()}}


@pytest.mark.parametrize("body", [
    b"{}", message("ConfigMap"), message()[:-3], message() + b"\x80", b"k8s\0" + b"\x0a\x7f"])
def test_what_is_refused(body):
    with pytest.raises(ValueError, match=r"magic|only Secrets|cut off"):
        protobuf.secret(body)

"""f5router.icontrol.rest.client: uploads in pieces."""

import pytest

from f5router.icontrol.rest.file_transfer import CHUNK
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
)
from tests.unit.icontrol.rest.test_client import HALF_JSON, LOST, RESTARTING
from tests.unit.icontrol.scripted import (
    Answer,
    connected,
)
from tests.unit.icontrol.test_no_secrets import PEM, everything


def test_upload():
    """Chunks of 512 KiB, each with its place; the path on the device."""
    data = bytes(range(256)) * 5000  # 1,280,000
    with connected() as (device, client, _):
        assert client.upload("a-1_b.crt", data) == "/var/config/rest/downloads/a-1_b.crt"
        sent = device.sent("POST", "/uploads/")
    assert {r.path for r in sent} == {"/mgmt/shared/file-transfer/uploads/a-1_b.crt"}
    assert [r.headers["Content-Range"] for r in sent] == [
        "0-524287/1280000", "524288-1048575/1280000", "1048576-1279999/1280000"]
    assert {r.headers["Content-Type"] for r in sent} == {"application/octet-stream"}
    assert b"".join(r.body for r in sent) == data


@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK, CHUNK + 1])
def test_upload_sizes(size):
    """No chunk is empty."""
    with connected() as (device, client, _):
        client.upload("a", b"x" * size)
        assert [len(r.body) for r in device.sent("POST", "/uploads/")] == [
            n for n in (min(size, CHUNK), size - CHUNK) if n > 0]


@pytest.mark.parametrize("name", ["", "a/b", "..", ".a", "a b", "../x", "a\n", "~"])
def test_upload_name(name):
    """A bare file name."""
    with connected() as (_, client, _), pytest.raises(ValueError, match="name of an uploaded file"):
        client.upload(name, b"x")


def test_upload_of_nothing():
    """An empty range cannot be written."""
    with connected() as (_, client, _), pytest.raises(ValueError, match="no data"):
        client.upload("a", b"")


@pytest.mark.parametrize("answer", [
    LOST, RESTARTING, HALF_JSON, Answer(200, PEM), Answer(500, "MIGHAgEAMBMGByqGSM49"),
    Answer(400, {"message": "Chunk byte count 3 different from received buffer length 4"}),
    Answer(200, {"remainingByteCount": 7}),
], ids=["lost", "page", "half", "payload", "piece", "length", "missing"])
def test_broken_upload(answer):
    """It starts again at 0; the third failure is final; what came back is not shown."""
    data = b"x" * (CHUNK + 1)
    with connected() as (device, client, clock):
        device.add(Answer(), answer, Answer(), answer, path="/uploads/")
        client.upload("a", data)
        starts = [r.headers["Content-Range"].split("-")[0] for r in device.sent("POST", "/uploads/")]
        assert starts == ["0", str(CHUNK)] * 3
        assert clock.waits == [1, 2]
        device.add(*[Answer(), answer] * 3, path="/uploads/")
        with pytest.raises(BigIPError) as caught:
            client.upload("a", data)
        assert "MIGH" not in "".join(everything(caught.value))
        assert len(device.sent("POST", "/uploads/")) == 12
        assert not device.sent("GET")


def test_refused_upload():
    """A missing right does not come by trying."""
    refusal = Answer(401, {"message": "Authorization failed: user=https://localhost/x resource=/mgmt/shared"})
    with connected() as (device, client, clock):
        device.add(refusal, path="/uploads/")
        with pytest.raises(AuthFailed):
            client.upload("a", b"x")
        assert not clock.waits

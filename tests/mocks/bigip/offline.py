"""A fake BIG-IP that nobody asks over the network, and short ways to make virtual servers on it."""

from __future__ import annotations

from typing import Any

import pytest

from mocks.bigip import FakeBigIP
from mocks.bigip.refusals import Refusal

AT, ADDRESSES = "ltm/virtual", "ltm/virtual-address"
HTTP, TCP = "/Common/http", "/Common/tcp"
CLIENT, SERVER = {"context": "clientside"}, {"context": "serverside"}


def virtual(big: FakeBigIP, path: str = "/P/vs", destination: str = "10.0.0.1:80", **fields: Any) -> dict:
    """A virtual server as it is read. Raises: Refusal."""
    big.put_object(AT, {"name": path, "destination": destination, **fields})
    return big.get(at(path))


def at(path: str, collection: str = AT) -> str:
    return f"{collection}/{path.replace('/', '~')}"


def profile(big: FakeBigIP, kind: str, path: str, **fields: Any) -> dict:
    """A profile as it is read. Raises: Refusal."""
    big.put_object(f"ltm/profile/{kind}", {"name": path, **fields})
    return big.get(at(path, f"ltm/profile/{kind}"))


def refusal(act: Any, *args: Any, **fields: Any) -> str:
    with pytest.raises(Refusal) as refused:
        act(*args, **fields)
    return str(refused.value)

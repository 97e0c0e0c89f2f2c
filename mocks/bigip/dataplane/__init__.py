"""The data plane of the fake BIG-IP: what is configured over REST carries real traffic on loopback.

    with FakeBigIP(dataplane=True) as big:
        big.add_virtual("/Common/vs", "10.0.0.1:80", pool="/Common/web")
        big.pods.start("10.128.0.11", 8080, "web-1", namespace="shop")
        requests.get("http://%s:%d/" % big.endpoint("/Common/vs")).json()["pod"]

FakeBigIP: `dataplane` True or a dict of options (`pods`, `speed`), or `start_dataplane(**options)` later;
`endpoint(virtual)` and `listeners()` tell the local ports; `pods` is the registry of the pool members'
stand-ins, see `pods.py`; `dataplane.log` has a record per request, see `state.py`; `errors` has what the
fake does not know and what iRules did wrong, besides a reset connection; `dataplane.counters()` tells what
is open. Its behaviour, with sources: docs/fake-bigip.md.
"""

from mocks.bigip.dataplane.plane import DataPlane
from mocks.bigip.dataplane.pods import Pod, Pods
from mocks.bigip.dataplane.state import Served

__all__ = ["DataPlane", "Pod", "Pods", "Served"]

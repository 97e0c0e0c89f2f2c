"""Changes of several objects that the device makes together, or not at all (bigip-behaviour.md A5)."""

from collections.abc import Mapping

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.session import JSON_HEADERS
from f5router.icontrol.rest.wire import ROOT
from f5router.model.errors import NotReady
from f5router.model.json_types import JSON

PATH = "transaction"
HEADER = "X-F5-REST-Coordination-Id"


def patch_together(client: Client, bodies: Mapping[str, JSON]) -> None:
    """Change several objects in one transaction; a device drops one that is not committed.

    Args: bodies: by path below /mgmt/tm, in the order in which the device takes them.
    Raises: BigIPError: nothing was done, unless it says otherwise.
    """
    number = str(client.post(PATH, {}).get("transId"))
    if not number.isdecimal():
        raise NotReady("POST", f"{ROOT}{PATH}", "the reply holds no number of a transaction")
    for path, body in bodies.items():
        client.patch(path, body, headers={**JSON_HEADERS, HEADER: number})
    client.patch(f"{PATH}/{number}", {"state": "VALIDATING"})

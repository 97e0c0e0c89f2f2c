"""The check that monitors verify certificates of pods as requests do.

From TMOS 13.1 on an https monitor has a server SSL profile. Monitors that run in TMM use it as virtual
servers do. `bigd`, which runs them otherwise, does not even take the server name from it (bigip-behaviour.md
B3), and might count a pod as down that answers requests.
"""

from f5router.icontrol.rest.client import Client
from f5router.model import tmos
from f5router.model.errors import NotFound, Refused

VARIABLE = "bigd.tmm"


def problem(client: Client, version: tuple[int, ...]) -> str:
    """Return why they do not; "" if they do. One request, from 13.1 on. Raises: BigIPError."""
    if version < tmos.TLS_CHECKS_SINCE:
        return (f"TMOS {tmos.dotted(version)} has no monitors with a server SSL profile, "
                f"{tmos.dotted(tmos.TLS_CHECKS_SINCE)} and later have")
    try:
        value = str(client.get(f"sys/db/{VARIABLE}").get("value") or "")
    except NotFound:
        value = ""
    except Refused as exc:
        return f"the variable {VARIABLE} of the BIG-IP cannot be read: {exc.text}"
    return "" if value == "enable" else (
        "monitors do not run in TMM on this BIG-IP, and do not verify as requests do; let them, where that "
        f"is right for all monitors of the BIG-IP: tmsh modify sys db {VARIABLE} value enable")

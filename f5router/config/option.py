"""One setting, and the groups of settings; options.py has the table."""

from collections.abc import Callable
from dataclasses import dataclass

from f5router.config import parsers

BIGIP = "BIG-IP"
UPLOAD = "Certificate upload"
OBJECTS = "BIG-IP objects"
TLS = "TLS towards clients"
HTTP = "HTTP"
VXLAN = "VxLAN"
PODS = "Clusters without openshift-sdn"
ADMISSION = "Admission"
ROUTER = "Routes and their status"
CLUSTER = "Cluster"
SELECTION = "Which Routes are served"
HA = "High availability"
TIMING = "Timing"
LOGGING = "Logging"
SERVING = "Metrics and health"
GROUPS = (
    BIGIP, UPLOAD, OBJECTS, HTTP, TLS, VXLAN, PODS, ADMISSION, ROUTER, CLUSTER, SELECTION, HA, TIMING,
    LOGGING, SERVING,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting."""

    name: str
    """The flag without its dashes: "f5-host"."""
    env: str
    """The variable; "" for none."""
    default: str
    """As it would be written; "" for not set."""
    group: str
    help: str
    metavar: str = "TEXT"
    parse: Callable[[str], object] = str
    """Value of a text; raises ValueError. It takes the default, unless that is ""."""
    short: str = ""
    """One letter, or ""."""
    secret: bool = False
    """The text is never repeated in a message."""

    repeats: bool = False
    """True if the flag may be given several times; the texts are joined by commas."""

    @property
    def boolean(self) -> bool:
        return self.parse is parsers.boolean

    @property
    def label(self) -> str:
        """Name in messages: "--f5-host / ROUTER_EXTERNAL_HOST_HOSTNAME"."""
        return f"--{self.name} / {self.env}" if self.env else f"--{self.name}"


def boolean(name: str, env: str, default: str, group: str, text: str) -> Option:
    return Option(name, env, default, group, text, "true|false", parsers.boolean)

"""Faults at calls, drawn from the seed and the call: the same call of the same seed meets the same."""

import random
import time
from collections import Counter
from collections.abc import Callable

from f5router.model.objects import Ref
from mocks.bigip.faults import Fault
from mocks.bigip.requests import Request
from mocks.kube.faults import UNREADABLE
from mocks.kube.faults import Fault as ApiFault

STARTING = ("503-html",) * 2 + ("404-not-registered",) * 2
"""Answers of a device that has been restarted."""

ANY = ("drop-reply", "drop-request", "late", "401", "token-expired", "503-html", "503-async", "500-mcpd",
       "404-not-registered", "html-200", "html-404", "redirect", "deep-json", "truncated-json",
       "timeout-html", "429", "403", "restart", "slow")
WRITE = {"POST": ("404-done", "409", "400"), "PATCH": ("404-bogus", "400"), "PUT": ("404-bogus", "400"),
         "DELETE": ("in-use", "404-done", "400"), "GET": ()}
REFUSALS = {
    "429": (429, "Too many requests", ""),
    "403": (403, "Operation is not supported", "01070822"),
    "409": (409, "The requested object already exists", "01020066"),
    "400": (400, "refused for a while", "01070734"),
    "in-use": (400, "The object cannot be deleted because it is in use.", "01070265"),
}
PERSISTENT = (
    (("PATCH", "least-connections", "400"),),
    (("POST", "_route_shop_m1", "400"), ("PATCH", "_route_shop_m1", "400"), ("DELETE", "Drafts", "400")),
    (("POST", "___", "timeout-html"),),
)
"""What the device does to all writes of a method whose path or body has a text, until the faults end."""
LEASE = "f5router-public"
UPLOAD = "f5router_"
"""In the paths of all uploads, whose names do not show of which file they are."""
LATE_S = 0.02
"""How long events of one kind are behind those of others."""
SLOW_S, TIMEOUT_S = 2.0, 1.0
"""A slow reply, and how long the router waits for one: in real time, also on a busy machine."""

API_READ = ("401", "403", "404", "429", "500", "503", "504", "drop", *UNREADABLE, "empty")
API_WRITE = ("401", "403", "409", "422", "429", "500", "503", "504", "drop", "drop-applied", *UNREADABLE)
SSH = ("reset", "other-host-key", "banner-delay", "refuse-auth", "hang-request", "hang", "hang-exit",
       "killed", "drop-after", "drop-mid-transfer", "disk-full", "truncated", "scp-fatal", "rm-fails")
SSH_S = 1.5
"""How long the router waits for SSH, likewise."""
OPTIONAL = "/contour.heptio.com/"
"""In the path of the kinds that a CustomResourceDefinition adds, which an API server may learn of late."""
FORMER_S = 0.2
"""How long after the start of a router a list may be one that the router before it asked for."""


class Weather:
    """The faults of one seed. The servers ask it, in threads of theirs."""

    def __init__(self, seed: int, restart: Callable[[], None], lost: Callable[[str], None],
                 was_empty: Callable[[str], bool]):
        """Args:
        restart: the BIG-IP restarts.
        lost: the API server seems to have nothing of a resource, or not to serve an API, and the router
            may believe it: an empty list only if it is the first one, or the second in a row, or if it
            knows of nothing.
        was_empty: returns True if there was nothing of a resource since everything was in place.
        """
        self._seed, self._restart, self._lost, self._was_empty = seed, restart, lost, was_empty
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._are_empty: dict[str, bool] = {}
        """By path: whether the last list since the start of the router was empty by mistake."""
        self._begun_at = 0.0
        self.rate = self.api_rate = 0.0
        self.is_cut = False
        """True: no request reaches the BIG-IP, for the router is dead."""
        self.slow_until = 0.0
        """When the last slow request is carried out, in real time; the router may have given it up."""
        self.empty_lists = 0
        """The API server lists nothing so many times."""
        self.persistent: tuple[tuple[str, str, str], ...] = ()
        """Entry of PERSISTENT that lasts."""
        self.hangs = "", 0
        """Method of requests that get no reply, "" for any, and how many will."""
        self.forbidden = ""
        """The API server refuses to list or to read what has this in its path; "" for nothing."""
        self.ssh_lasts = ""
        """Fault of all connections and commands of SSH; "" for none."""
        self.happened: list[str] = []
        self._spoiled: list[str] = []
        """Paths and bodies of writes that met a fault, and UPLOAD for a step of SSH."""

    def begin(self) -> None:
        """A router starts."""
        self.is_cut = False
        self._are_empty.clear()
        self._begun_at = time.monotonic()

    def clear(self) -> None:
        """The faults are over."""
        self.rate = self.api_rate = 0.0
        self.empty_lists, self.persistent = 0, ()
        self.forbidden = self.ssh_lasts = ""
        self.hangs = "", 0

    def has_spoiled(self, ref: Ref) -> bool:
        """True if a write of an object has met a fault, or for a file that of any upload."""
        name = UPLOAD if ref.kind.startswith("sys/file/") else ref.path.rsplit("/", 1)[-1]
        return any(name in text for text in self._spoiled)

    def on_device(self, request: Request) -> Fault | None:
        """Return the fault of a request to the BIG-IP."""
        if self.is_cut:
            return Fault("drop-request")
        text = f"{request.path} {request.raw.decode(errors='replace')}"
        kind = self._hang(request) or self._lasting(request.method, text) or self._draw(
            self.rate, (*ANY, *2 * WRITE.get(request.method, ())), request.method, request.path)
        if kind is None:
            return None
        if request.method != "GET":
            self._spoiled.append(text)
        if kind == "restart":
            self._restart()
            return Fault("503-html")
        if kind == "slow":
            self.slow_until = time.monotonic() + SLOW_S
            return Fault("delay", options={"seconds": SLOW_S})
        if kind == "late":
            return Fault("late", options={"requests": 1 + len(request.path) % 7})
        if kind in REFUSALS:
            status, message, code = REFUSALS[kind]
            return Fault("refuse", options={"status": status, "message": message, "code": code or None})
        return Fault(kind)

    def on_api(self, method: str, verb: str, path: str) -> ApiFault | None:
        """Return the fault of a request to the API server."""
        kinds = API_WRITE if method != "GET" else API_READ if verb in ("list", "get") else API_READ[:-1]
        kind = self._draw(self.api_rate, kinds, method, verb, path)
        if self.forbidden and self.forbidden in path and method == "GET":
            kind = "403"
        if verb == "list" and self.empty_lists:
            self.empty_lists -= 1
            self.happened.append(f"empty at {path}")
            kind = "empty"
        if verb == "list" and kind in (None, "empty"):
            self._record_list(path, is_empty=kind is not None)
        if kind is None or (kind == "empty" and verb != "list"):
            return None
        if kind == "404" and OPTIONAL not in path and "/secrets/" not in path:
            return None  # what is part of the API server itself is always served
        if kind in ("403", "404") and method == "GET":
            self._lost(path)
        if kind == "429":
            return ApiFault("429", options={"retry_after": 0})
        if kind == "drop-applied":
            return ApiFault("drop", options={"applied": True})
        return ApiFault(kind)

    def _record_list(self, path: str, *, is_empty: bool) -> None:
        if is_empty and (self._are_empty.get(path, True) or self._was_empty(path)):
            self._lost(path)
        if is_empty or time.monotonic() - self._begun_at > FORMER_S:
            self._are_empty[path] = is_empty

    def on_ssh(self, fault: str, command: str | None) -> bool:
        """True if a fault is to happen at a step of SSH, which asks for several."""
        if fault not in SSH:
            return False
        if self.is_cut:
            return fault == "reset"
        if fault == self.ssh_lasts:
            self._spoiled.append(UPLOAD)
            return True
        happens = self._draw(self.rate / 3, (fault,), "SSH", fault, command or "") is not None
        if happens:
            self._spoiled.append(UPLOAD)
        return happens

    def on_events(self, path: str, lines: list[bytes]) -> tuple[float, list[bytes]]:
        """Return how long events of a watch are late, and the events: some come again, in their order."""
        kind = self._draw(2 * self.api_rate, ("late", "again", "again and late"), "events", path)
        if kind is None:
            return 0.0, lines
        return LATE_S if "late" in kind else 0.0, 2 * lines if "again" in kind else lines

    def _hang(self, request: Request) -> str | None:
        method, left = self.hangs
        if not left or method not in ("", request.method):
            return None
        self.hangs = method, left - 1
        self.happened.append(f"hang at {request.method} {request.path}")
        return "hold"

    def _lasting(self, method: str, text: str) -> str | None:
        kind = next((kind for each, words, kind in self.persistent if each == method and words in text), None)
        if kind is not None:
            self.happened.append(f"{kind} at {method} {text.split()[0]}, as always")
        return kind

    def _draw(self, rate: float, kinds: tuple[str, ...], *call: str) -> str | None:
        if not rate:
            return None
        self._counts[call] += 1
        chance = random.Random(f"{self._seed} {call} {self._counts[call]}")
        if chance.random() >= rate:
            return None
        kind = chance.choice(kinds)
        self.happened.append(f"{kind} at {' '.join(call)}")
        return kind

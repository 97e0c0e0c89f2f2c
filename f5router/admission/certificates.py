"""Check of the certificates and keys of spec.tls, which yields what goes to the BIG-IP; and its queue.

A certificate that expired, or is not valid yet, passes; so does one of another host: the team is warned of
them (reconcile/certificate_warnings.py). Source of the rules:
openshift/router, ExtendedValidateRoute. Upstream bounds signature checks only
(issuers.MAX_CHECKS); the other bounds are in pem.py.

Checks are made in the loop's thread for a moment, then in one beside it. Python runs one thread at a time,
and the cryptography library keeps the others waiting while it verifies a signature. So checks are made in
turns of TURN_S, and the thread beside the loop pauses after each for as long as it took: any other thread
gets half of the time, and waits for a step at most.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from cryptography import x509

from f5router.admission import issuers, pem
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key, RouteTLS
from f5router.model.limits import Result, Steps, finish


@dataclass(frozen=True, slots=True)
class Texts:
    """Everything that the verdict on certificates depends on; empty where a field does not count."""

    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    ca_certificate: str = field(default="", repr=False)
    destination_ca_certificate: str = field(default="", repr=False)
    extended: bool = True
    """Apply the rules of upstream's validator."""

    @classmethod
    def of(cls, tls: RouteTLS, *, extended: bool) -> "Texts":
        """Select the fields of spec.tls that its termination uses."""
        if tls.termination not in ("edge", "reencrypt"):
            return cls(extended=extended)
        return cls(tls.certificate, tls.key, tls.ca_certificate,
                   tls.destination_ca_certificate if tls.termination == "reencrypt" else "", extended)

    def __bool__(self) -> bool:
        return bool(self.certificate or self.key or self.ca_certificate or self.destination_ca_certificate)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Result of the check of certificates."""

    problems: tuple[str, ...] = ()
    """Each begins with the field."""
    key_pair: TLSKeyPair | None = field(default=None, repr=False)
    destination_ca: str = field(default="", repr=False)
    """PEM, re-encoded; "" without one."""


CertificateChecker = Callable[[Texts], Certificates | None]
"""Returns None while the verdict is not known."""


def check(texts: Texts) -> Certificates:
    """Check certificates at once."""
    return finish(check_in_steps(texts))


def check_in_steps(texts: Texts) -> Steps[Certificates]:
    """Check certificates in steps; every wrong field is reported, whatever its type."""
    try:
        return (yield from _CertificateCheck(texts).run())
    except Exception as exc:
        return Certificates((f"spec.tls: it cannot be checked ({type(exc).__name__})",))


def _sharing(pair: TLSKeyPair, texts: Texts) -> TLSKeyPair:
    """Return a pair with the texts of the Route where they are equal, so that one copy stays in memory."""
    return replace(pair, certificate=texts.certificate if texts.certificate == pair.certificate
                   else pair.certificate, key=texts.key if texts.key == pair.key else pair.key)


class _CertificateCheck:
    def __init__(self, texts: Texts):
        self._texts = texts
        self._problems: list[str] = []

    def run(self) -> Steps[Certificates]:
        key_pair, text, destination_ca = (yield from self._own()), self._texts.destination_ca_certificate, ""
        if text:
            authorities = yield from self._certificates(text, "spec.tls.destinationCACertificate")
            destination_ca = yield from pem.encode(authorities)
        return Certificates(tuple(self._problems), key_pair, destination_ca)

    def _own(self) -> Steps[TLSKeyPair | None]:
        """Check certificate, key and caCertificate."""
        texts, authorities = self._texts, []
        if texts.ca_certificate:
            authorities = yield from self._certificates(texts.ca_certificate, "spec.tls.caCertificate")
        if not texts.certificate:
            # Not used, but anything but a key is reported.
            if "-----BEGIN" in texts.key:
                yield from self._reported(pem.keys(texts.key, "spec.tls.key", only=True))
            return None
        certs = yield from self._certificates(texts.certificate, "spec.tls.certificate")
        keys = (yield from self._keys()) if certs else []
        known = len(self._problems)
        if keys:
            yield from self._reported(pem.check_order(certs, keys[0]))
        if len(self._problems) > known:  # everything else would be about the wrong certificate
            return None
        if certs and authorities and texts.extended:
            yield from self._reported(issuers.check(certs, authorities))
        if not keys:
            return None
        pair = yield from self._reported(pem.key_pair(certs, keys[0], authorities))
        return pair and _sharing(pair, texts)

    def _keys(self) -> Steps[list[pem.PrivateKey]]:
        """Read the private keys of the field certificate, then of the field key."""
        texts = self._texts
        beside = yield from self._reported(pem.keys(texts.certificate, "spec.tls.certificate", only=False))
        keys = beside or []
        if texts.key.strip():
            keys += (yield from self._reported(pem.keys(texts.key, "spec.tls.key", only=True))) or []
        elif beside == []:
            self._problems.append("spec.tls.key: no key specified")
        return keys

    def _certificates(self, text: str, where: str) -> Steps[list[x509.Certificate]]:
        """Read the certificates of a field; none after a problem."""
        certs = (yield from self._reported(pem.certificates(text, where))) or []
        if self._texts.extended:
            yield from self._reported(pem.check_signatures(certs, where))
        return certs

    def _reported(self, step: Steps[Result]) -> Steps[Result | None]:
        """Run a step; returns None after a PEMError, which becomes a problem."""
        try:
            return (yield from step)
        except pem.PEMError as exc:
            self._problems.append(str(exc))
            return None


TURN_S = 0.001
"""How long one namespace's checks are made before another's; the last step may take longer."""

START_S, AT_ONCE_S = 1.0, 0.02
"""How long the loop checks by itself: when it takes its first changes, and each time it takes some later.
That is enough for usual certificates of 4,000 Routes, and of 80."""

NEWS_S = 0.5
"""Period at which verdicts are announced while more are to come: a pass for each would delay the others."""


@dataclass(slots=True, eq=False)
class _CheckJob:
    route: Key
    texts: Texts
    steps: Steps[Certificates]
    owners: tuple[str, str]
    """Namespaces of the Route and of the object that claims its Host: either brings certificates."""


class CheckQueue:
    """Checks of certificates, by owners in turn; verdicts are kept until the texts change.

    The loop's thread calls everything; a second one works inside `beside`. Without it `work` checks all.
    """

    def __init__(self, *, at_once_s: float = math.inf, clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], object] = time.sleep):
        """Args: at_once_s: how long `work` may check."""
        self._allowed_s, self._clock, self._sleep = at_once_s, clock, sleep
        self._changed = threading.Condition()
        self._verdicts: dict[Key, tuple[Texts, Certificates]] = {}
        self._jobs: dict[Key, _CheckJob] = {}
        """Checks that are wanted; other verdicts are obsolete."""
        self._waiting: dict[tuple[str, str], OrderedDict[Key, _CheckJob]] = {}
        """Checks that nobody works on, by owners in the order of their turns."""
        self._finished: set[Key] = set()
        self._asked = self._news = self._stopped = False
        self._announced_at, self._later_s = -math.inf, at_once_s

    @property
    def news(self) -> bool:
        """True if `work` should be called for verdicts that came beside the loop."""
        return self._news

    def ask(self, route: Key, texts: Texts, *, claimant: str = "") -> Certificates | None:
        """Return the verdict on the certificates of a Route; None while it is not known.

        Args: claimant: namespace that claims its Host, where that is another one.
        """
        if not texts:
            self.forget(route)
            return Certificates()
        with self._changed:
            known, job = self._verdicts.get(route), self._jobs.get(route)
            if known is not None and known[0] == texts:
                self._drop(route)
                return known[1]
            if job is None or job.texts != texts:
                self._drop(route)
                job = _CheckJob(route, texts, check_in_steps(texts),
                                (route.namespace, claimant or route.namespace))
                self._jobs[route] = self._waiting.setdefault(job.owners, OrderedDict())[route] = job
                self._asked = True
        return None

    def pending(self) -> int:
        """Return the number of checks that are not finished."""
        return len(self._jobs)

    def forget(self, route: Key) -> None:
        """Drop a Route that is gone."""
        with self._changed:
            self._verdicts.pop(route, None)
            self._drop(route)

    def work(self) -> set[Key]:
        """Check for as long as the loop may; returns Routes with verdicts since the last call."""
        end = self._clock() + self._allowed_s if self._asked else -math.inf
        while self._clock() < end and self.turn():
            pass
        with self._changed:
            if self._asked:
                self._allowed_s = min(self._allowed_s, self._later_s)
            self._asked = self._news = False
            finished, self._finished = self._finished, set()
            self._changed.notify_all()
        return finished

    @contextmanager
    def beside(self, notify: Callable[[], None], *, start_s: float = START_S,
               later_s: float = AT_ONCE_S) -> Iterator[None]:
        """Run a second thread inside a `with`.

        Args:
            notify: called from it when there is news.
            start_s: how long the first call of `work` may check; later_s: each later one.
        """
        before = self._allowed_s, self._later_s
        self._stopped, self._allowed_s, self._later_s = False, start_s, later_s
        thread = threading.Thread(target=self._run, args=(notify,), daemon=True, name="certificates")
        thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._stopped = True
                self._allowed_s, self._later_s = before
                self._changed.notify_all()
            thread.join()

    def _run(self, notify: Callable[[], None]) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or (
                    not self._asked and (self._waiting or (self._finished and not self._news))))
                if self._stopped:
                    return
            begin = self._clock()
            self.turn()
            if self._has_news():
                notify()
            self._sleep(self._clock() - begin)

    def _has_news(self) -> bool:
        with self._changed:
            now = self._clock()
            if self._news or not self._finished or (self._waiting and now < self._announced_at + NEWS_S):
                return False
            self._news, self._announced_at = True, now
        return True

    def turn(self) -> bool:
        """Check for TURN_S, for the owners whose turn it is; False if nothing waits."""
        if (job := self._next()) is None:
            return False
        end, verdict = self._clock() + TURN_S, None
        try:
            next(job.steps)
            while self._clock() < end:
                next(job.steps)
        except StopIteration as done:
            verdict = done.value
        with self._changed:
            if self._jobs.get(job.route) is not job:
                return True
            if verdict is None:
                jobs = self._waiting.setdefault(job.owners, OrderedDict())
                jobs[job.route] = job
                jobs.move_to_end(job.route, last=False)
            else:
                del self._jobs[job.route]
                self._verdicts[job.route] = (job.texts, verdict)
                self._finished.add(job.route)
        return True

    def _next(self) -> _CheckJob | None:
        with self._changed:
            if not self._waiting:
                return None
            owners = next(iter(self._waiting))
            jobs = self._waiting.pop(owners)
            _, job = jobs.popitem(last=False)
            if jobs:
                self._waiting[owners] = jobs
            return job

    def _drop(self, route: Key) -> None:
        job = self._jobs.pop(route, None)
        if job is not None and (jobs := self._waiting.get(job.owners)) is not None:
            jobs.pop(route, None)
            if not jobs:
                del self._waiting[job.owners]

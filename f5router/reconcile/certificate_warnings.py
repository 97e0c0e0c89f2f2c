"""Warnings about certificates of Routes that clients refuse: expired, or for other hosts.

Such a Route is served nevertheless, as upstream does (openshift/router, ExtendedValidateRoute).
"""

import datetime
from collections.abc import Callable

from f5router.admission import validation
from f5router.desired.engine import Engine
from f5router.model.cluster import Key
from f5router.model.texts import Problem


class CertificateWarnings:
    """Compares certificates with the host and the wall clock. The loop's thread calls its methods."""

    def __init__(self, engine: Engine, *,
                 wall: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC)):
        """Args: wall: aware time."""
        self._engine, self._wall = engine, wall
        self._looked_at = wall()

    def of(self, key: Key) -> tuple[Problem, ...]:
        """Return the warnings about the certificate of a Route, with its field."""
        evaluated = self._engine.routes().get(key)
        pair = evaluated.key_pair if evaluated else None
        if evaluated is None or pair is None or (validity := pair.validity) is None:
            return ()
        route = evaluated.route
        field = "spec.tls.externalCertificate" if route.secret else "spec.tls.certificate"
        return tuple(Problem(reason, validation.field_of_origin(route, f"{field}: {text}"))
                     for reason, text in validity.problems(evaluated.host, self._wall()))

    def take_changed(self) -> list[Key]:
        """Return the Routes whose certificate has begun or ceased to be valid since the last look.

        The wall clock may have been set back meanwhile.
        """
        before, now = sorted((self._looked_at, wall := self._wall()))
        self._looked_at = wall
        return [key for key, evaluated in self._engine.routes().items()
                if (pair := evaluated.key_pair) is not None and (validity := pair.validity) is not None
                and (before <= validity.begin <= now or before <= validity.end <= now)]

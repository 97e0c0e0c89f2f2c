"""Selects the Ingresses that this router serves: the Ingresses of its class.

Sources: Kubernetes, Ingress, "Ingress class"; openshift/route-controller-manager,
pkg/route/ingress/ingress.go: the annotation goes before spec.ingressClassName. Unlike there, an Ingress
without a class is another controller's, unless a class of this router is the default class.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from f5router.model.cluster import Key, is_object_name
from f5router.model.ingress import Ingress, IngressClass

CONTROLLER = "f5router.io/ingress"
"""spec.controller of the IngressClasses of this router."""
CLASS = "f5router"
"""Class that the older annotation may name without any IngressClass."""

_CONTROLLER = re.compile(
    r"(?=.{1,250}\Z)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9](?:[\w./-]*[A-Za-z0-9])?", re.ASCII)
"""Source: Kubernetes, validateIngressClassSpec: a domain-prefixed path of at most 250 characters."""


def parse_class(text: str) -> str:
    """Parse the name of a class. Raises: ValueError."""
    if not is_object_name(text):
        raise ValueError(f"{text!r} is no name of an IngressClass")
    return text


def parse_controller(text: str) -> str:
    """Parse the name of a controller. Raises: ValueError."""
    if not _CONTROLLER.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a controller such as example.com/router")
    return text


@dataclass(frozen=True, slots=True)
class ClassSettings:
    """The classes of this router."""

    controller: str = CONTROLLER
    name: str = CLASS


class Classes:
    """The IngressClasses of the cluster that are this router's."""

    def __init__(self, settings: ClassSettings = ClassSettings()):
        self._settings = settings
        self._own: dict[str, bool] = {}
        """Names of the IngressClasses of this router, each with True if it is a default class."""

    def apply(self, changes: Mapping[Key, IngressClass | None]) -> bool:
        """Apply changes; returns True if an Ingress may have another controller now."""
        before = dict(self._own)
        for key, value in changes.items():
            self._own.pop(key.name, None)
            if value is not None and value.controller == self._settings.controller:
                self._own[key.name] = value.is_default
        return before != self._own

    def is_own(self, ingress: Ingress) -> bool:
        """True if the Ingress is this router's; an empty annotation or name is none."""
        if ingress.class_annotation:
            return ingress.class_annotation == self._settings.name or ingress.class_annotation in self._own
        if ingress.ingress_class:
            return ingress.ingress_class in self._own
        return any(self._own.values())

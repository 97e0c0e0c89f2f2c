"""Settings of the kinds of objects that are served."""

from f5router.config import parsers
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.sources.ingress_classes import ClassSettings
from f5router.sources.ingress_routes import IngressRoutePolicy
from f5router.sources.translator import INGRESS, INGRESS_ROUTE, ROUTE, SourceSettings

_SOURCES, _FIELDS = "sources", "fields"
_KINDS = {"routes": ROUTE, "ingress": INGRESS, "ingressroutes": INGRESS_ROUTE}


def load(reader: Reader, *, ownership: bool) -> SourceSettings:
    """Return the settings.

    A selector of fields selects Routes, by fields that no other kind has. With one, only Routes are served,
    and naming other kinds is a problem.

    Args: ownership: of admission.AdmissionPolicy.
    """
    kinds = tuple(_KINDS[word] for word in reader.value(_SOURCES) or ())
    if reader.text(_FIELDS) and kinds != (ROUTE,):
        if reader.text(_SOURCES) != OPTIONS[_SOURCES].default:
            reader.problem("it selects Routes alone, so --sources must be routes", _FIELDS, _SOURCES)
        else:
            reader.warn("it selects Routes alone: neither Ingresses nor IngressRoutes are served", _FIELDS)
        kinds = (ROUTE,)
    return of_kinds(reader, kinds, ownership=ownership)


def kinds(text: str) -> tuple[str, ...]:
    """Return the kinds that --sources names. Raises: ValueError."""
    return tuple(_KINDS[word] for word in parsers.several(*_KINDS)(text))


def of_kinds(reader: Reader, kinds: tuple[str, ...], *, ownership: bool) -> SourceSettings:
    """Return the settings of these kinds. Args: as of load()."""
    classes = ClassSettings(reader.value("ingress-controller"), reader.value("ingress-class"))
    return SourceSettings(kinds, classes, ingress_routes(reader, ownership=ownership),
                          reader.value("ignore-annotations") or frozenset())


def ingress_routes(reader: Reader, *, ownership: bool) -> IngressRoutePolicy:
    """Return the settings of IngressRoutes. Args: as of load()."""
    return IngressRoutePolicy(
        reader.value("root-namespaces") or frozenset(), reader.value("ingressroute-class") or "",
        ownership=ownership)

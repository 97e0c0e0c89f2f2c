"""Warnings about the annotations of an Ingress: one for those without effect, one for those ignored."""

from collections.abc import Iterator, Mapping

from f5router.admission import annotations
from f5router.admission.foreign.translation import Translation
from f5router.model.hostnames import quote
from f5router.model.texts import OPTION_WITHOUT_EFFECT, TRANSLATED, UNSUPPORTED_ANNOTATION, Problem

_FIELD = "metadata.annotations: "


def of(translation: Translation, encrypted: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the warnings. Args: encrypted: hosts without spec.tls, and the annotation that asks for TLS."""
    if (translated := translation.translated) and not translation.refusals:
        verb = "are" if len(translated) > 1 else "is"
        yield Problem(TRANSLATED, f"{_FIELD}{annotations.listed(translated)} of another controller {verb} in "
                                  "effect, as docs/ingress.md says")
    if without := translation.without_effect:
        hints = dict.fromkeys(filter(None, map(annotations.hint, without[:annotations.MOST_KEYS])))
        verb = "have" if len(without) > 1 else "has"
        yield Problem(UNSUPPORTED_ANNOTATION, f"{_FIELD}{annotations.listed(without)} {verb} no effect: this "
                                              f"router does not carry them out{''.join(hints)[:300]}")
    if ignored := translation.ignored:
        verb = "are" if len(ignored) > 1 else "is"
        yield Problem(UNSUPPORTED_ANNOTATION, f"{_FIELD}{annotations.listed(ignored)} {verb} ignored, as "
                                              "the administrator has set it; nothing of it is enforced")
    if encrypted:
        host, key = next(iter(encrypted.items()))
        more = f" and {len(encrypted) - 1} more" if len(encrypted) > 1 else ""
        yield Problem(OPTION_WITHOUT_EFFECT, (
            f"{_FIELD}{key} asks for TLS and spec.tls has no entry for {quote(host)}{more}: the certificate "
            "is that of the virtual server"))

"""Options of a Route by annotations of other controllers; annotations of this router take precedence."""

from dataclasses import replace
from typing import Any

from f5router.admission import allowlist, route_options
from f5router.admission.allowlist import Allowlist
from f5router.admission.annotations import AnnotatedOptions
from f5router.admission.foreign.translation import Translation
from f5router.model.route_options import DEFAULTS

_TERMINATIONS = {option.field: option.terminations for option in route_options.OPTIONS} | {
    "redirect_to": route_options.HTTP, "redirect_code": route_options.HTTP}


def merged(own: AnnotatedOptions, translation: Translation, termination: str) -> AnnotatedOptions:
    """Return the options of a Route, including options by other controllers' annotations.

    Args: termination: of the Route; "" without TLS.
    """
    problems, values = list(translation.problems), dict[str, Any]()
    for name, value in translation.draft.options.items():
        key = translation.draft.origins[name]
        if getattr(own.options, name) != getattr(DEFAULTS, name):
            problems.append(f"metadata.annotations: {key} has no effect beside one of this router")
        elif termination not in _TERMINATIONS[name]:
            kind = f"with termination {termination}" if termination else "without TLS"
            problems.append(f"metadata.annotations: {key} has no effect {kind}")
        else:
            values[name] = value
    clients = allowlist.narrowed(Allowlist(own.options.sources), translation.draft.lists)
    options = replace(own.options, **values, sources=clients.sources)
    return own._replace(
        options=options, option_problems=(*own.option_problems, *dict.fromkeys(problems)),
        option_refusal=own.option_refusal or translation.refusal or clients.refusal)

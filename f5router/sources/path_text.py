"""Paths that look like regular expressions, which no kind of object has here: each is compared as text.

Teams come from controllers that take some paths for expressions. Sources: Kubernetes v1.17,
extensions/v1beta1, HTTPIngressPath ("an extended POSIX regex"); kubernetes/ingress-nginx,
docs/user-guide/ingress-path-matching.md; projectcontour/contour v1.5.1, internal/dag/builder.go: route ("path
smells like a regex").
"""

import re

WARNING = "is text, not a regular expression"

_SIGNS = re.compile(r"[\[\]\\^{|}()*]|\.\+|\$$")
r"""Characters that the path of a request hardly has.

RFC 3986 3.3 allows none of []\^{|} in a path. It allows parentheses and * too, but in an Ingress these stand
for a group and a repetition far more often. Other signs occur in ordinary paths: . and +, unless they stand
together, a $ that is not at the end (/$metadata), ~ and percent-encoding.
"""


def resembles_expression(path: str) -> bool:
    """True if a path was probably meant as a regular expression."""
    return _SIGNS.search(path) is not None

"""Content types of the setting compression-mime.

Sources: openshift/router, haproxy-config.template (compression type); openshift/api, operator/v1,
types_ingress.go: CompressionMIMEType, whose parameters have to be quoted; openshift/enhancements, HTTP
compression, which names text/*; HAProxy, src/flt_http_comp.c, which compares as many characters as the
setting has, and takes * for a character.
"""

import re
import shlex

_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&+._/;= -]*")


def parse(text: str) -> tuple[str, ...]:
    """Split a list of types at blanks; quotes hold a type with parameters together.

    Returns: the types, without a `*` at their end. Raises: ValueError.
    """
    types = tuple(word.removesuffix("*") for word in shlex.split(text))
    for content_type in types:
        if not _TYPE.fullmatch(content_type):
            raise ValueError(f"{content_type!r} is not a content type such as text/html")
    return types

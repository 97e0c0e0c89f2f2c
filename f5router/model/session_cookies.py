"""Names of session cookies and their attribute SameSite.

Source: openshift/router, haproxy-config.template: router.openshift.io/cookie_name, cookie-same-site.
"""

import re

NAME_TEXT = "1 to 128 letters, digits, _ and -, not beginning with -"
DEFAULT_SAME_SITE = "None"
SAME_SITE = ("Lax", "Strict", DEFAULT_SAME_SITE)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")


def parse_name(text: str) -> str:
    """Check the name of a cookie. A dash at its beginning could be an option to a command of an iRule.

    Raises: ValueError.
    """
    if not _NAME.fullmatch(text):
        raise ValueError(f"must be {NAME_TEXT}")
    return text

"""Commands of iRules that answer with a page."""

import base64

from f5router.model.http_edge import ErrorPage

_RESPOND = (
    'HTTP::respond 503 -version auto content "@PAGE@" noserver '
    'Content-Type "text/html; charset=utf-8" Cache-Control "no-store" Connection "close"')
"""Command that answers with the page; clouddocs: valid in HTTP_REQUEST and LB_FAILED."""

OR_RESET = """if {{ [catch {{
                {}
            }}] }} {{
                reject
            }}"""


def respond(page: ErrorPage | None) -> str:
    """Return the command that answers with a page, the built-in one without one.

    No text of a page is a word of Tcl: base64 has letters, digits, `+`, `/` and `=`. Sources: clouddocs,
    b64decode (valid in all events); DevCentral, "Maintenance Page Generator", whose iRules carry images so.
    """
    if page is None:
        return _RESPOND
    headers = "".join(f" {name} [b64decode {_base64(value.encode())}]" for name, value in page.headers)
    return (f"HTTP::respond {page.status} -version auto content [b64decode {_base64(page.body)}] noserver"
            f'{headers} Connection "close"')


def _base64(content: bytes) -> str:
    return f'"{base64.b64encode(content).decode()}"'

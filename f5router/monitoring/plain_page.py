"""The list of Routes as a page without scripts, made by the server.

    GET /plain?search=&state=&status=&warned=&namespace=&sort=&page=&per_page=

It takes the parameters of /api/v1/routes, and costs as much. Its links lead to other pages of the list and
to the JSON of a Route: a form would need a looser content security policy. Browsers without scripts come here
from the page (HTML, 4.2.5.3: a `meta` element in a `noscript` element of the head).
"""

import re
from collections.abc import Mapping
from html import escape
from urllib.parse import quote, urlencode

from f5router.model.texts import number_of
from f5router.monitoring.selection import Chosen, Query
from f5router.views.route_view import RouteState, RouteSummary

NAME = "plain"
PARAMETERS = ("search", "state", "status", "warned", "namespace", "sort", "page", "per_page")
"""Parameters that its links pass on."""

WORDS: Mapping[RouteState, tuple[str, str]] = {
    RouteState.UNANSWERED: ("Served, but nothing answers", "bad"),
    RouteState.FAILING: ("Requests fail", "bad"),
    RouteState.DEVICE_REJECTED: ("Refused by BIG-IP", "bad"),
    RouteState.REJECTED: ("Rejected", "bad"),
    RouteState.PENDING: ("Pending", "wait"),
    RouteState.WARNED: ("Served", "wait"),
    RouteState.SERVED: ("Served", "good"),
}
"""Text and class of the badge of each state, as the page has them."""

CHOICES = {"All": "", "Requests fail": "failed", "Served": "answered", "Pending": "pending"}
"""Values of the parameter `state` by the text of their links."""

ORDERS = {"Trouble first": "trouble", "Host": "host", "Source object": "object", "Service": "service",
          "Certificate": "certificate"}
"""Likewise for `sort`."""

_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}):[0-9]{2}Z", re.ASCII)
_SHORT = r'<time title="\g<0>">\1 \2 UTC</time>'

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Routes - f5router</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
</head>
<body>
<header><div class="bar"><h1><a href="plain">f5router</a></h1></div></header>
<main>
"""

NOTE = """<p class="soft">This list is as it was when you opened it. The page with Nodes, changes and the
BIG-IP needs JavaScript. The same is there as JSON: <a href="api/v1/device">api/v1/device</a>,
<a href="api/v1/nodes">api/v1/nodes</a>, <a href="api/v1/changes">api/v1/changes</a>, and behind the link of
each Route. On the command line, use <code>f5router get routes</code> and <code>f5router explain</code>.</p>
</main>
</body>
</html>
"""


def page(listed: Chosen, query: Query) -> bytes:
    """Return the page in ASCII; texts of the cluster are no markup in it.

    Args: query: as the client sent it; its parameters are valid.
    """
    given = {name: query[name][-1] for name in PARAMETERS if name in query}
    sentence = escape(listed.summary or "No Route matches.")
    text = "".join((
        HEAD, f'<h2 class="sentence{" wrong" if listed.failed else ""}">{sentence}</h2>',
        _links("Routes", "state", CHOICES, given), _links("Order", "sort", ORDERS, given),
        '<div class="card"><table class="cards"><thead><tr><th class="host">Host and path</th><th>Status</th>'
        '<th class="source">Source object</th><th class="source">Service</th><th class="problem">Problem</th>'
        "</tr></thead><tbody>",
        *map(_row, listed.items), "</tbody></table></div>", _pager(listed, given), NOTE))
    return text.encode("ascii", "xmlcharrefreplace")


def _row(route: RouteSummary) -> str:
    text, kind = WORDS[route.state]
    target = f"api/v1/routes/{_quoted(route.key.namespace)}/{_quoted(route.key.name)}"
    front_end = route.key.front_end
    target += f"?front_end={_quoted(front_end)}" if front_end else ""
    place = f" on front end {front_end}" if front_end else ""
    problem = _TIME.sub(_SHORT, escape(route.problem.text)) if route.problem else ""
    return (f'<tr><td class="wide any"><a href="{escape(target)}">{escape(route.host or "(no host)")}'
            f'{escape(route.path)}</a><span class="under">{escape(route.termination or "http")}</span></td>'
            f'<td class="wide keep"><span class="badge {kind}">{text}</span></td>'
            f'<td class="wide any">{escape(f"{route.kind} {route.source}{place}")}</td>'
            f'<td class="wide any">{escape(", ".join(route.services))}</td>'
            f'<td class="wide any wrong">{problem}</td></tr>\n')


def _quoted(name: str) -> str:
    return quote(name, safe="", errors="replace")


def _links(title: str, name: str, choices: Mapping[str, str], given: Mapping[str, str]) -> str:
    """Return links to the list with other values of a parameter; all others stay, except the page."""
    links = [_link({**given, "page": "", name: value}, text, is_current=given.get(name, "") == value)
             for text, value in choices.items()]
    return f'<p class="pager"><span>{title}: {" · ".join(links)}</span></p>'


def _pager(listed: Chosen, given: Mapping[str, str]) -> str:
    pages = max(1, -(-listed.total // listed.per_page))
    others = [_link({**given, "page": str(number)}, text) for text, number in (
        ("Previous", listed.page - 1), ("Next", listed.page + 1)) if 1 <= number <= pages]
    where = f"{number_of(listed.total, 'Route')}, page {listed.page} of {pages}"
    return f'<p class="pager"><span>{where} {" ".join(others)}</span></p>'


def _link(parameters: Mapping[str, str], text: str, *, is_current: bool = False) -> str:
    kept = urlencode({name: value for name, value in parameters.items() if value})
    current = ' aria-current="true"' if is_current else ""
    return f'<a href="{escape(f"{NAME}?{kept}" if kept else NAME)}"{current}>{text}</a>'

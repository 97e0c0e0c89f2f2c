"""Readers of values: each takes what one annotation asks for into a Draft. All raise ValueError."""

import json
import re
from collections.abc import Callable
from typing import Any

from f5router.admission.foreign.draft import ClientList, Draft
from f5router.model import route_options

Reader = Callable[[Draft, str, str], None]
"""Takes a Draft, the annotation and its value."""

_TRUE = frozenset({"1", "t", "true", "on", "yes", "enabled"})
_FALSE = frozenset({"0", "f", "false", "off", "no", "disabled"})
_URL = re.compile(r"https?://[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252})(?::[0-9]{1,5})?(?:/[A-Za-z0-9/._~%&=+,:;@!*?-]{0,1500})?")
"""No character has a meaning to a BIG-IP or to Tcl."""

REDIRECTS = (301, 302, 303, 307, 308)
"""Statuses of a redirect that a policy can send. Source: bigip-behaviour.md B4, `code`."""

CLEAR, SECURE = frozenset({"web", "http"}), frozenset({"websecure", "https"})
"""Usual names of Traefik's entry points."""


def boolean(text: str) -> bool:
    """Parse a boolean. Raises: ValueError."""
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def status(text: str) -> int:
    """Parse the status of a redirect. Raises: ValueError."""
    if text.strip() not in map(str, REDIRECTS):
        raise ValueError(text)
    return int(text)


def url(text: str) -> str:
    """Parse an absolute URL without anything that is replaced. Raises: ValueError."""
    if not _URL.fullmatch(text.strip()):
        raise ValueError(text)
    return text.strip()


def whole_path(text: str) -> route_options.PathRewrite:
    """Parse a path that takes the place of a whole path, as ingress-nginx has it. Raises: ValueError."""
    if "$" in text or not route_options.URL_PATH.fullmatch(text):
        raise ValueError(text)
    return route_options.PathRewrite(text, keeps_rest=False, drops_slash=False)


def plus_one(text: str) -> int:
    """Parse a number of connections that get in; the next one is refused. Raises: ValueError."""
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()) or not int(text):
        raise ValueError(text)
    return int(text) + 1


def allow(*, exceptions: bool = False) -> Reader:
    """Return the reader of a list of clients that alone get in."""
    return lambda draft, key, text: draft.lists.append(ClientList(key, text, False, exceptions))


def deny(*, exceptions: bool = False) -> Reader:
    """Return the reader of a list of clients that are kept out."""
    return lambda draft, key, text: draft.lists.append(ClientList(key, text, True, exceptions))


def option(field: str, parse: Callable[[str], Any]) -> Reader:
    """Return the reader of a field of RouteOptions; the first annotation that is read counts."""
    def read(draft: Draft, key: str, text: str) -> None:
        value = parse(text.strip())
        if field not in draft.options:
            draft.options[field], draft.origins[field] = value, key
    return read


def field(name: str, parse: Callable[[str], Any] = boolean) -> Reader:
    """Return the reader of a field of the Draft."""
    return lambda draft, key, text: setattr(draft, name, parse(text))


def redirect(code: int = 0, *, forced: bool = False) -> Reader:
    """Return the reader of a switch for the redirect to https.

    Args:
        code: status of the redirect; 0 for the router's own.
        forced: the switch asks for TLS, too.
    """
    def read(draft: Draft, key: str, text: str) -> None:
        wanted = boolean(text)
        draft.redirect = wanted or (draft.redirect if forced else bool(draft.redirect))
        if wanted:
            draft.redirect_status = draft.redirect_status or code
            if forced:
                draft.encrypt.append(key)
    return read


def allow_http(*, silent: bool = False) -> Reader:
    """Return the reader of a switch for clear text. Args: silent: without it port 80 answers nothing."""
    def read(draft: Draft, key: str, text: str) -> None:
        if boolean(text):
            return
        draft.allow_http = False
        draft.silent = draft.silent or silent
        draft.encrypt.append(key)
    return read


def encrypt(draft: Draft, key: str, text: str) -> None:
    """Read an annotation that names a certificate: the hosts have TLS."""
    draft.encrypt.append(key)


def encrypt_if(draft: Draft, key: str, text: str) -> None:
    """Read a switch for TLS."""
    if boolean(text):
        draft.encrypt.append(key)


def client_ssl(draft: Draft, key: str, text: str) -> None:
    """Read the profiles of F5's controller: a path, or a list of objects with `hosts` each."""
    draft.encrypt.append(key)
    if not text.lstrip().startswith("["):
        return
    try:
        entries = json.loads(text)
        hosts = [host for entry in entries for host in entry.get("hosts") or ()]
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise ValueError(text) from exc
    if not all(isinstance(host, str) for host in hosts):
        raise ValueError(text)
    if hosts:
        draft.encrypt.remove(key)
        draft.encrypted_hosts += hosts


def backend(*secure: str, plain: tuple[str, ...], ignored: tuple[str, ...] = ()) -> Reader:
    """Return the reader of the protocol of pods. Args: words in lower case; ignored: served as HTTP/1.1."""
    def read(draft: Draft, key: str, text: str) -> None:
        word = text.strip().lower()
        if word not in (*secure, *plain, *ignored):
            raise ValueError(text)
        draft.pods_tls = draft.pods_tls or word in secure
    return read


def authority(draft: Draft, key: str, text: str) -> None:
    """Read the name of a Secret with authorities."""
    draft.authority = (key, text.strip())


def nginx_verify(draft: Draft, key: str, text: str) -> None:
    """Read the switch for verification of pods, which has no effect without a name to compare with."""
    draft.verify = boolean(text)
    draft.needs_pod_name = True


def affinity(draft: Draft, key: str, text: str) -> None:
    """Read the kind of session; only cookies exist."""
    if text.strip() != "cookie":
        raise ValueError(text)
    draft.sticky = True


def entry_points(draft: Draft, key: str, text: str) -> None:
    """Read the names of Traefik's entry points; others than the usual ones may be of another network."""
    names = frozenset(filter(None, re.split(r"[,\s]+", text.lower())))
    if not names or not names <= CLEAR | SECURE:
        raise ValueError(text)
    if not names & CLEAR:
        draft.allow_http, draft.silent = False, True
        draft.encrypt.append(key)


def protocols(draft: Draft, key: str, text: str) -> None:
    """Read the protocols that Kong serves; https alone leaves nothing in clear text."""
    names = frozenset(filter(None, re.split(r"[,\s]+", text.lower())))
    if not names or not names <= {"http", "https"}:
        raise ValueError(text)
    if names == {"https"}:
        draft.allow_http, draft.silent = False, True
        draft.encrypt.append(key)


def listen_ports(draft: Draft, key: str, text: str) -> None:
    """Read the ports of an AWS load balancer: a JSON list of objects such as {"HTTPS": 443}."""
    try:
        kinds = {str(kind).upper(): int(port) for entry in json.loads(text) for kind, port in entry.items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise ValueError(text) from exc
    if not kinds or not kinds.items() <= {"HTTP": 80, "HTTPS": 443}.items():
        raise ValueError(text)
    if "HTTPS" in kinds:
        draft.encrypt.append(key)
        if "HTTP" not in kinds:
            draft.allow_http, draft.silent = False, True


def redirect_port(draft: Draft, key: str, text: str) -> None:
    """Read the port of an AWS load balancer to which clear text is redirected."""
    if text.strip() != "443":
        raise ValueError(text)
    draft.redirect, draft.redirect_status = True, draft.redirect_status or 301
    draft.encrypt.append(key)


def pods_tls(draft: Draft, key: str, text: str) -> None:
    """Read an annotation that names a profile for TLS towards pods."""
    draft.pods_tls = True

"""Readers of values: each takes what one annotation asks for into a Draft. All raise ValueError.

Configuration that an annotation adds as text is harmless, or perhaps a protection. Only directives that are
known not to keep anybody out, and not to change what a pod trusts, are harmless. Sources: nginx.org,
alphabetical index of directives; HAProxy, configuration manual, keywords of a backend.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from f5router.model import route_options


@dataclass(slots=True)
class ClientList:
    """A list of clients."""

    key: str
    text: str
    refused: bool
    """True for clients that are kept out, False for those that alone get in."""
    exceptions: bool
    """True if an entry that begins with an exclamation mark is an exception."""


@dataclass(slots=True)
class Draft:
    """The requests of one Ingress; each default means that nothing is asked for."""

    lists: list[ClientList] = field(default_factory=list)
    redirect: bool | None = None
    """True if requests in clear text are redirected where there is TLS, False if they are served."""
    redirect_status: int = 0
    allow_http: bool | None = None
    """False if nothing is served in clear text."""
    silent: bool = False
    """True if port 80 answers nothing, not even with a redirect."""
    encrypt: list[str] = field(default_factory=list)
    """Annotations that ask for TLS, whatever spec.tls has."""
    encrypted_hosts: list[str] = field(default_factory=list)
    """Hosts for which an annotation asks that."""
    passthrough: bool = False
    pods_tls: bool = False
    """True if pods expect TLS."""
    verify: bool | None = None
    """True if the certificates of pods must be verified."""
    authority: tuple[str, str] = ("", "")
    """The annotation that names the Secret with the authorities of pods, and its value."""
    pod_name: str = ""
    """Host name that the certificates of pods must carry."""
    needs_pod_name: bool = False
    """True for a controller that verifies nothing successfully without `pod_name`."""
    minimum_tls: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """Values by field of RouteOptions."""
    origins: dict[str, str] = field(default_factory=dict)
    """By field: the annotation that it comes from."""
    code: int = 0
    """Status of the redirect that the annotations ask for in the place of pods."""


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


def cookie(text: str) -> bool:
    """Parse the kind of a session, of which only cookies exist. Raises: ValueError."""
    if text != "cookie":
        raise ValueError(text)
    return True


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


def set_field(name: str, parse: Callable[[str], Any] = boolean) -> Reader:
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


LONGEST = 4096
"""Characters of a text that is looked at; a longer one counts as a protection."""

_NGINX = re.compile(
    r"(?:add_header|add_trailer|more_set_headers|more_clear_headers|expires|etag|charset\w*|default_type|"
    r"gzip\w*|brotli\w*|access_log|error_log|log_\w+|sub_filter\w*|proxy_hide_header|proxy_pass_header|"
    r"proxy_cookie_\w+|proxy_buffer\w*|proxy_busy_buffers_size|proxy_max_temp_file_size|proxy_temp_\w+|"
    r"proxy_(?:connect|read|send)_timeout|proxy_request_buffering|proxy_http_version|proxy_redirect|"
    r"client_body_\w+|client_max_body_size|client_header_\w+|large_client_header_buffers|keepalive_\w+|"
    r"send_timeout|sendfile\w*|tcp_nodelay|tcp_nopush|chunked_transfer_encoding|output_buffers|"
    r"server_tokens|http2_\w+|types_\w+)\b")
_HAPROXY = re.compile(
    r"(?:http-response (?:set|add|del|replace)-(?:header|value)|compression |timeout |retries |balance |log |"
    r"option (?:http|forwardfor|tcp|log))")


_QUOTED = re.compile(r"""(?<![^\s;{}])(?:#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")
"""A comment or a quoted word of nginx, which begins where a word does (nginx, ngx_conf_read_token)."""


def restricts(text: str, *, haproxy: bool) -> bool:
    """True for a text that may keep clients away. Args: haproxy: it is HAProxy's, not nginx's."""
    if len(text) > LONGEST:
        return True
    if haproxy:
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        return any(line and not _HAPROXY.match(line) for line in lines)
    plain = _QUOTED.sub(lambda match: "" if match[0].startswith("#") else "_", text)
    statements = (statement.strip() for statement in plain.split(";"))
    return any(statement and ("{" in statement or not _NGINX.match(statement)) for statement in statements)

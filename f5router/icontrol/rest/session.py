"""Requests with credentials: one token for all threads, renewed in time.

The token lives as long as the device says, 1200 s by default, counted on our clock from before the login. It
is not extended by PATCH: a minute before its end a new login replaces it, and the old one is deleted. A user
has 100 tokens at most (bigip-behaviour.md A4); a router that is killed again and again leaves one each time,
and those must die soon by themselves: extended to the possible ten hours they would fill the list.

User name and password may change while the router runs, on the device before or after the files. Changed ones
are tried with the next request; while the device refuses them, the last ones that it accepted are used.
"""

import json
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from f5router.icontrol.rest.credentials import Basic, Token, spellings, token_life_s
from f5router.icontrol.rest.transport import Transport, hide_token
from f5router.icontrol.rest.wire import Reply
from f5router.icontrol.settings import ClientSettings, Fixed, Login, Renewable
from f5router.logs.log_output import hide
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    LoginRefused,
    NotReady,
    Refused,
    Stopped,
    TokenLimit,
    Unsupported,
    error_for,
)
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff

log = logging.getLogger(__name__)

LOGIN = "/mgmt/shared/authn/login"
TOKENS = "/mgmt/shared/authz/tokens"
JSON_HEADERS = {"Content-Type": "application/json"}
"""Exactly this: with a charset, or octet-stream from an upload, some versions answer 415."""

RENEW_BEFORE_S = 60
REFUSED_S = 30
"""After a refused password nothing is sent for this long: repeated refusals lock the account."""
OTHER_REFUSALS = Backoff(first_s=1.0, limit_s=REFUSED_S)
"""The same after logins that were refused for another reason, in a row: it may pass at once."""
LOGOUT_TIMEOUT_S = 5
SPORADIC_REPEATS = 3
SPORADIC_BACKOFF = Backoff(first_s=0.5, limit_s=1.5)

NO_RIGHT = "Authorization failed: user="
"""In a 401 that refuses the request, not the credentials."""

_SPORADIC = "no user authentication header or token detected"
_TOKEN_LIMIT = "maximum active login tokens"
_TOKEN = re.compile(r"[A-Za-z0-9_.-]+")


class Session:
    """Sends requests as the user of the settings; thread-safe."""

    def __init__(
        self, settings: ClientSettings, transport: Transport, *, refused_s: float = REFUSED_S,
        login: Renewable[Login] | None = None,
        clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], object] = time.sleep,
    ):
        """Args: login: user name and password, if they may change."""
        self._settings, self._transport, self._clock, self._sleep = settings, transport, clock, sleep
        self._refused_s = refused_s
        self._logins = login or Fixed(settings.login)
        self._wants_token = settings.auth == "token"
        self._lock = threading.Lock()  # of all that follows
        self._newest = self._logins.get()
        self._accepted: Login | None = None  # the last that the device accepted
        self._basic = Basic(self._newest)
        self._secrets = spellings(self._newest)
        self._by_token = self._wants_token
        self._token: Token | None = None
        self._dropped: Token | None = None
        self._attempts = 0  # finished ones
        self._failure: BigIPError | None = None  # of the last attempt to log in
        self._refused_until = float("-inf")
        self._other_refusals = 0  # logins in a row
        self._fell_back = False
        self._closed = False
        self.is_known = False
        """True once iControl REST has answered: after that, a reply of something else is a passing fault."""

    def send(self, method: str, path: str, *, check: Callable[[], None] | None = None,
             **request: Any) -> Reply:
        """Send a request as Transport.send does, and once more after a 401, which was not executed.

        Args: check: called before each attempt, when the credentials for it are there; ends it by raising.
        Returns: the reply, of any status but 401.
        Raises:
            LoginRefused: the password, or a fresh token; for 30 s the same error is raised without a request.
            AuthFailed: the role was refused, or the login for another reason: then the time is shorter, at
                first 1 s.
            Unreachable, NotReady, ...: from this request, or from the login before it (then the
                error has the login's path, and may_have_applied is False).
        """
        sporadic = renewed = 0
        tried: list[Login] = []
        while True:
            auth = self._auth()
            if check is not None:
                check()
            reply = self._transport.send(method, path, credentials=auth.headers, **request)
            if reply.status != 401:
                if auth is self._basic:
                    self._accepted = auth.login
                return reply
            text = reply.text()
            if _SPORADIC in text and sporadic < SPORADIC_REPEATS:
                sporadic += 1
                self._sleep(SPORADIC_BACKOFF.delay_s(sporadic))
            elif isinstance(auth, Token) and not renewed and NO_RIGHT not in text:
                renewed += 1
                self._drop(auth)
            elif isinstance(auth, Basic) and NO_RIGHT not in text and self._has_other(auth, tried):
                log.info("login refused, trying the next credentials")
            else:
                error = (self.error if NO_RIGHT in text else self._login_refused)(method, path, reply)
                if NO_RIGHT not in text and _SPORADIC not in text:
                    self._refuse(auth, error)
                raise error

    def error(self, method: str, path: str, reply: Reply, *, text: str | None = None) -> BigIPError:
        """Return the exception for a reply, without password or token.

        Args:
            text: replaces the reply's own text.
        """
        if 300 <= reply.status < 400:
            text = f"redirected to {reply.location or 'another path'}"
        token = self._token
        secrets = (*self._secrets, token.value) if token else self._secrets
        words = reply.text() if text is None else text
        error = error_for(method, hide_token(path), reply.status, words, secrets, is_known=self.is_known)
        if self.is_known or not _is_api_server(reply):
            return error
        return Unsupported(method, error.path, "a Kubernetes API server answers at this address, not a "
                                               f"BIG-IP; see --f5-host: {error.text}", status=reply.status)

    def _login_refused(self, method: str, path: str, reply: Reply) -> BigIPError:
        """Return the exception for refused credentials, which names the user and the settings."""
        error = self.error(method, path, reply)
        if _SPORADIC in error.text or isinstance(error, Unsupported):
            return error
        text = (f"user {self._newest.username!r} or its password is refused, see "
                f"{self._settings.login_from}: {error.text}")
        return LoginRefused(error.method, error.path, text, status=error.status,
                            own=self._settings.login_from)

    def leave_tokens(self) -> None:
        """Use basic authentication from now on."""
        with self._lock:
            token, self._token = self._token, None
            self._by_token = self._wants_token = False
        if token:
            self._delete(token, token)

    @property
    def uses_tokens(self) -> bool:
        """True unless basic authentication is in use."""
        return self._by_token

    def close(self) -> None:
        """Delete the token if the device allows it; later calls of send raise Stopped."""
        with self._lock:
            token, self._token, self._closed = self._token, None, True
        if token:
            self._delete(token, token)

    def _auth(self) -> Token | Basic:
        """Return the credentials for one request; log in if there is no token, or it ends soon."""
        login, token, attempts = self._logins.get(), self._token, self._attempts
        if token and self._clock() < token.renew_at and login == self._newest:
            return token
        with self._lock:
            if self._closed:
                raise Stopped(text="the router is stopping")
            self._take(login)
            # A thread that waited while another one's login failed reports the same failure.
            waited = self._attempts != attempts
            if self._failure and (waited or self._clock() < self._refused_until):
                raise _again(self._failure)
            if not self._by_token:
                return self._basic
            if not self._token or self._clock() >= self._token.renew_at:
                self._login()
            return self._token or self._basic

    def _take(self, login: Login) -> None:
        """Use another login from the next request on, whatever was refused before. Needs the lock."""
        if login == self._newest:
            return
        self._secrets = spellings(login, self._newest, self._accepted)
        for secret in self._secrets:
            hide(secret)
        self._newest, self._basic = login, Basic(login)
        self._token, self._dropped = None, self._token or self._dropped  # deleted after the next login
        self._failure, self._refused_until = None, float("-inf")

    def _has_other(self, auth: Basic, tried: list[Login]) -> bool:
        """True if there is a login that this request has not tried; the next request uses it.

        Args: tried: gets the one that was refused.
        """
        tried.append(auth.login)
        login = self._logins.get(now=True)
        with self._lock:
            self._take(login)
            if auth.login == self._accepted:
                self._accepted = None
            other = next((each for each in self._candidates() if each not in tried), None)
            if other is None and auth.login != self._newest and tried.count(self._newest) == 1:
                other = self._newest  # the device may have changed to it since it refused it
            if other is not None:
                self._basic = Basic(other)
            return other is not None

    def _candidates(self) -> list[Login]:
        """Return the logins to try, the newest first. Needs the lock."""
        return list(dict.fromkeys(filter(None, (self._newest, self._accepted))))

    def _login(self) -> None:
        """Replace the token, or fall back to basic authentication. Needs the lock."""
        self._take(self._logins.get(now=True))
        old, self._dropped = self._token or self._dropped, None
        self._token = self._failure = None
        try:
            self._token = self._accepted_token()
        except BigIPError as exc:
            exc.may_have_applied = False  # the caller's own request was not sent
            self._failure, self._dropped = _again(exc), old
            if isinstance(exc, AuthFailed):
                self._refused_until = self._clock() + self._pause_s(exc)
            raise
        finally:
            self._attempts += 1
        self._other_refusals = 0
        if old and self._token:
            self._delete(old, self._token)

    def _pause_s(self, error: AuthFailed) -> float:
        """Return for how long nothing is sent after a login that was refused. Needs the lock."""
        if isinstance(error, LoginRefused):
            return self._refused_s
        self._other_refusals += 1
        return min(OTHER_REFUSALS.delay_s(self._other_refusals), self._refused_s)

    def _accepted_token(self) -> Token | None:
        """Log in as the newest or, if that is refused, as the device has accepted last. Needs the lock.

        If that is refused, too, the device may have changed to the newest in between: it is tried once more.
        """
        refused: BigIPError | None = None
        candidates = self._candidates()
        for login in (*candidates, *candidates[:-1]):
            try:
                token = self._new_token(login)
            except LoginRefused as exc:
                if login == self._accepted:
                    self._accepted = None
                refused = refused or exc
                continue
            if refused and login != self._newest:
                log.warning("changed login refused, using the previous credentials",
                            extra={"error": str(refused)})
            if token:
                self._accepted = login
            return token
        assert refused, "there is a candidate"
        raise refused

    def _new_token(self, login: Login) -> Token | None:
        """Log in; return None if the device has no login end point (11.5)."""
        begin = self._clock()
        body = {"username": login.username, "password": login.password, "loginProviderName": "tmos"}
        reply = self._transport.send(
            "POST", LOGIN, credentials={}, headers=JSON_HEADERS, label="login",
            body=json.dumps(body, ensure_ascii=False).encode())
        content = reply.json() or {}
        if reply.status == 404 and _no_such_worker(content):
            level = logging.DEBUG if self._fell_back else logging.WARNING
            log.log(level, "BIG-IP has no token login, using basic authentication",
                    extra={"url": self._settings.base_url})
            self._by_token, self._fell_back = False, True
            return None
        if _TOKEN_LIMIT in reply.text():
            raise TokenLimit("POST", LOGIN, self._limit_words(), status=reply.status)
        if reply.status >= 300:
            refused = self._login_refused if reply.status == 401 else self.error
            error = refused("POST", LOGIN, reply)
            if isinstance(error, Refused):  # the login was refused, not the caller's object
                error = AuthFailed("POST", LOGIN, error.text, status=reply.status)
            raise error
        item = content.get("token")
        value = item.get("token") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(value, str) or not _TOKEN.fullmatch(value):
            raise NotReady("POST", LOGIN, "the reply to the login holds no token", status=reply.status)
        life_s = token_life_s(item)
        log.debug("BIG-IP login", extra={"life_s": round(life_s)})
        return Token(value, begin + life_s - min(RENEW_BEFORE_S, life_s / 2))

    def _limit_words(self) -> str:
        return ("the user has 100 live tokens, the most that a BIG-IP allows; they end within 20 minutes, "
                f"or free all: curl -u USER -X DELETE {self._settings.base_url.rstrip('/')}{TOKENS}")

    def _drop(self, token: Token) -> None:
        """Discard a token that the device refused, unless another thread has replaced it already."""
        with self._lock:
            if self._token is token:
                # Deleted after the next login: it may be alive, and every login makes one more.
                self._token, self._dropped = None, token

    def _refuse(self, auth: Token | Basic, error: BigIPError) -> None:
        """Send nothing for a while after basic credentials, or a fresh token, were refused.

        This limits the number of logins. After a fallback to basic authentication the login is tried again
        afterwards: perhaps the device was only starting.
        """
        with self._lock:
            if isinstance(auth, Token) and self._token is not auth:
                return
            self._token, self._basic = None, Basic(self._newest)
            self._by_token = self._wants_token
            self._failure, self._refused_until = _again(error), self._clock() + self._refused_s

    def _delete(self, token: Token, auth: Token) -> None:
        try:
            self._transport.send("DELETE", f"{TOKENS}/{token.value}", credentials=auth.headers,
                                 timeout_s=LOGOUT_TIMEOUT_S, label="logout")
        except BigIPError as exc:  # it ends by itself
            log.debug("BIG-IP token not deleted", extra={"error": str(exc)})


def _is_api_server(reply: Reply) -> bool:
    """True for an error of a Kubernetes API server. Source: Kubernetes API conventions, Status kind."""
    content = reply.json() or {}
    return content.get("kind") == "Status" and content.get("apiVersion") == "v1"


def _no_such_worker(content: JSON) -> bool:
    """True if restjavad lacks the worker, as on 11.5; "not registered" is a later version at start."""
    stack = content.get("errorStack")
    words = [str(content.get("message") or ""), *map(str, stack if isinstance(stack, list) else ())]
    return any("RestWorkerUriNotFound" in each or each.startswith("http://localhost:8100/") for each in words)


def _again(error: BigIPError) -> BigIPError:
    """Return an equal exception: one instance must not be raised in several threads."""
    return type(error)(error.method, error.path, error.text, status=error.status)

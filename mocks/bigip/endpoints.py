"""From a request to its reply: which end point, which kind, which verb."""

from __future__ import annotations

import re
from typing import Any

from mocks.bigip import (
    catalog,
    cm,
    files,
    irules,
    names,
    refusals,
    rendering,
    statistics,
    system,
    users,
    versions,
)
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.quirks import Quirk
from mocks.bigip.rendering import ROOT, suffix
from mocks.bigip.replies import Reply, success
from mocks.bigip.requests import Request
from mocks.bigip.store import Item, Key, Store
from mocks.bigip.transactions import Transactions
from mocks.bigip.uploads import Uploads
from mocks.bigip.users import Tokens

_TAG = re.compile(rb"<[A-Za-z][A-Za-z0-9_-]*>")
_FREE_TEXT = ("ltm/rule", "util/bash", "ltm/monitor")
"""Kinds whose bodies hold text in which `<word>` is common."""


class Endpoints:
    """The REST tree of one device. Raises Refusal where the device refuses."""

    def __init__(self, store: Store, tokens_: Tokens) -> None:
        self.store = store
        self.tokens = tokens_
        self.uploads = Uploads()
        self.transactions = Transactions(store, self._queued)

    def answer(self, request: Request) -> Reply:
        """Authenticate, then perform."""
        store, path = self.store, request.path
        if store.version < versions.FIRST_REST:
            raise refusals.Refusal(404, f"The requested URL {path} was not found on this server.", 0, "html")
        if path == "/mgmt/shared/authn/login":
            return success(self._login(request))
        request.user = self.tokens.user_of(request.headers, path, request.sender)
        users.check_role(request.user, request.method, path, version=store.version, sender=request.sender)
        by_token = "X-F5-Auth-Token" in request.headers
        if by_token and store.version < (12,) and request.method != "GET" and path.startswith("/mgmt/tm"):
            # tokens of 11.6 allow no changes (ID521572, bigip-behaviour.md A4)
            raise users.role_refused(request.user.name, request.method, path, request.sender)
        if "X-F5-REST-Coordination-Id" in request.headers:
            return success(self.transactions.queue(request))
        if path.startswith("/mgmt/tm/transaction"):
            return success(self.perform(request))
        lie = None
        with store.atomic():
            try:
                content = self.perform(request)
            except Lie as told:
                lie = told
        if lie is not None:
            raise lie.refusal
        return success(content, headers=self._headers(request))

    def _queued(self, request: Request) -> Any:
        """A command of a transaction; its own reply is never seen."""
        try:
            return self.perform(request)
        except Lie:
            return None

    def _headers(self, request: Request) -> dict[str, str]:
        content_range = request.headers.get("Content-Range")
        return {"Content-Range": content_range} if content_range else {}

    def _login(self, request: Request) -> Any:
        if self.store.version < (11, 6):
            raise refusals.java(404, "http://localhost:8100/mgmt/shared/authn/login")
        if request.method != "POST":
            raise refusals.java(
                404,
                f"URI path {request.path} not registered.  Please verify URI is supported and "
                "wait for /available suffix to be responsive.",
            )
        return self.tokens.login(request.json(), request.sender)

    def perform(self, request: Request) -> Any:
        """The content of the reply, None for an empty one. Raises: Refusal."""
        segments = request.path.split("/")[1:]
        if segments[:2] == ["mgmt", "tm"]:
            return self._tm(segments[2:], request)
        if segments[:2] == ["mgmt", "shared"]:
            return self._shared(segments[2:], request)
        raise refusals.java(404, f"Public URI path not registered: {request.path.removeprefix('/mgmt')}")

    def _shared(self, segments: list[str], request: Request) -> Any:
        if segments[:2] == ["authz", "tokens"] and len(segments) < 4:
            name = segments[2] if len(segments) == 3 else None
            body = request.json() if request.method in ("PATCH", "PUT") else None
            return self.tokens.answer(request.method, name, body, request.user)
        if segments[:2] == ["file-transfer", "uploads"] and len(segments) == 3 and request.method == "POST":
            if self.store.version < (12,):
                raise refusals.java(404, f"http://localhost:8100{request.path}")
            return self.uploads.receive(self.store, names.decode_segment(segments[2]), request)
        if segments == ["echo", "available"]:
            return {}
        raise refusals.java(404, f"Public URI path not registered: {request.path.removeprefix('/mgmt')}")

    def _tm(self, segments: list[str], request: Request) -> Any:
        store, url = self.store, "/".join(segments)
        self._check_query(request)
        self._check_tags(url, request)
        if segments and segments[0] == "transaction":
            return self.transactions.answer(segments[1:], request)
        if url in ("sys/available", "cm/available"):
            return {}
        if url in system.READ and request.method == "GET":
            return system.READ[url](store, request)
        if url in system.COMMANDS and request.method == "POST":
            return system.COMMANDS[url](store, request)
        if request.method == "GET" and url in catalog.organizing(store.version):
            return self._organizing(url)
        if segments[:1] == ["cm"]:
            return cm.answer(store, segments[1:], request)
        kind, rest = self._kind(segments)
        return self._below(kind, rest, request)

    def _check_query(self, request: Request) -> None:
        ver = request.query.get("ver")
        if not ver:
            return
        try:
            wanted = versions.parse(ver)
        except ValueError:
            raise refusals.java(400, f"Version {ver} is not supported.") from None
        # 16.0 refuses 11.5.0 (E:400--version-not-supported); which it still takes is not known
        if wanted > self.store.version or (self.store.version >= (16,) and wanted < (12,)):
            raise refusals.java(400, f"Version {ver} is not supported.")

    def _check_tags(self, url: str, request: Request) -> None:
        if request.raw and not url.startswith(_FREE_TEXT) and _TAG.search(request.raw):
            raise refusals.tmsh("HTML Tag-like Content in the Request URL/Body")

    def _organizing(self, url: str) -> dict[str, Any]:
        links = [
            {"reference": {"link": f"{ROOT}{url}/{name}{suffix(self.store)}"}}
            for name in catalog.organizing(self.store.version)[url]
        ]
        return {
            "kind": f"tm:{url.replace('/', ':')}:{url.rsplit('/', 1)[-1]}collectionstate",
            "selfLink": f"{ROOT}{url}{suffix(self.store)}",
            "items": links,
        }

    def _kind(self, segments: list[str]) -> tuple[Kind, list[str]]:
        for count in (3, 2):
            kind = self.store.kinds.get("/".join(segments[:count]))
            if kind is None or self.store.version < kind.since:
                continue
            if kind.parent is None and len(segments) >= count:
                return kind, segments[count:]
        raise refusals.rest(f"Found unexpected URI tmapi_mapper/{'/'.join(segments)}.")

    def _below(self, kind: Kind, segments: list[str], request: Request) -> Any:
        """Walk names and sub-collections down to what the URL names."""
        key: Key = ()
        bare = False
        while True:
            if not segments:
                return self._collection(kind, key, request)
            name = self._decode(segments[0])
            if name == "stats" and len(segments) == 1:
                return statistics.collection(self.store, kind, key)
            bare = bare or (kind.parent is None and kind.partitioned and not name.startswith("/"))
            key, segments = kind.key_in_url(self.store, key, name), segments[1:]
            if not segments:
                return self._item(kind, key, request, bare=bare and kind.parent is None)
            if segments == ["stats"] and request.method == "GET":
                return statistics.item(self.store, kind, kind.find(self.store, key))
            sub = f"{kind.url}/{segments[0]}"
            if sub not in kind.subs or not self.store.kinds[sub].shown_in_parent(self.store):
                raise refusals.rest(
                    f"Found unexpected URI tmapi_mapper/{request.path.removeprefix('/mgmt/tm/')}."
                )
            kind, segments = self.store.kinds[sub], segments[1:]

    def _decode(self, segment: str) -> str:
        if "%2f" in segment.lower() and self.store.has(Quirk.PERCENT_2F_REFUSED):
            raise refusals.rest(f"Found invalid URI segment {segment}.")
        return names.decode_segment(segment)

    # -- collections -------------------------------------------------------------------------------

    def _collection(self, kind: Kind, parent: Key, request: Request) -> Any:
        store = self.store
        if kind.url.startswith(("sys/crypto/", "sys/file/")) and request.method == "GET":
            files.count_read(store)
        if kind.url.startswith("sys/crypto/"):
            return self._crypto(kind, request)
        if request.method == "GET":
            return self._listed(kind, parent, request)
        if request.method != "POST":
            raise refusals.tmsh("enter a valid option")
        body = request.body()
        if "command" in body:
            return self._command(kind, body)
        if kind.url == "ltm/rule":
            irules.refuse_escapes(store, names.from_body(body), request.raw)
        item = kind.create(store, parent, kind.with_items(body))
        self._maybe_lie(kind, body, item)
        return rendering.render(store, item, request.query)

    def _listed(self, kind: Kind, parent: Key, request: Request) -> Any:
        if kind.parent is not None and self.store.get(kind.parent, *parent) is None:
            raise self.store.kinds[kind.parent].absent(self.store, parent)
        reply = rendering.collection(self.store, kind, parent, request.query)
        if kind.url == "ltm/virtual/policies" and self.store.has(Quirk.NESTED_POLICIES_REFERENCE):
            items = reply.pop("items", [])
            reply["policiesReference"] = {"link": reply["selfLink"], "isSubcollection": True, "items": items}
        return reply

    def _crypto(self, kind: Any, request: Request) -> Any:
        store = self.store
        if request.method == "GET":
            views = [kind.view(store, file) for file in store.all(kind.file_kind)]
            return {
                "kind": rendering.state(kind, "collectionstate"),
                "selfLink": f"{ROOT}{kind.url}{suffix(store, request.query)}",
                "items": [rendering.render(store, view) for view in views],
            }
        body = request.body()
        if request.method != "POST" or body.get("command") != "install":
            raise refusals.tmsh(f'"{body.get("command")}" unexpected argument')
        kind.install(store, body)
        # the answer on success was never recorded; commands echo the request (bigip-behaviour.md A2.1)
        return {"kind": f"tm:{kind.url.replace('/', ':')}:installstate", **body}

    def _command(self, kind: Any, body: Body) -> Any:
        if (
            kind.url == "ltm/policy"
            and body["command"] == "publish"
            and self.store.version >= versions.DRAFTS
        ):
            kind.publish(self.store, names.from_body(body))
            return {"kind": "tm:ltm:policy:publishstate", **body}
        raise refusals.tmsh(f'"{body["command"]}" unexpected argument')

    def _maybe_lie(self, kind: Kind, body: Body, item: Item) -> None:
        """Some versions answer a POST that was done by 404 (bigip-behaviour.md A6). Raises: Lie."""
        store = self.store
        lies = store.has(Quirk.SUB_POST_404) and kind.url in ("ltm/virtual/policies", "ltm/pool/members")
        lies = lies or (store.has(Quirk.PROFILES_POST_404) and kind.url == "ltm/virtual/profiles")
        if store.has(Quirk.MEMBERS_NEED_PARTITION) and kind.url == "ltm/pool/members":
            lies = lies or not (body.get("partition") or str(body["name"]).startswith("/"))
        if lies:
            shown = item.name if store.version < (12,) else item.name.rsplit("/", 1)[1]
            raise Lie(refusals.object_not_found(shown))

    # -- single objects ----------------------------------------------------------------------------

    def _item(self, kind: Kind, key: Key, request: Request, *, bare: bool) -> Any:
        store, method = self.store, request.method
        if kind.url.startswith(("sys/crypto/", "sys/file/")) and method == "GET":
            files.count_read(store)
        if kind.url.startswith("sys/crypto/"):
            return self._crypto_item(kind, key, request)
        if method == "GET":
            return self._read(kind, key, request, bare=bare)
        if method == "DELETE":
            kind.delete(store, kind.find(store, key))
            return None
        if method not in ("PATCH", "PUT"):
            raise refusals.tmsh("enter a valid option")
        body = request.body()
        if kind.url == "ltm/rule":
            irules.refuse_escapes(store, key[0], request.raw)
        item = self._changed(kind, kind.find(store, key), body, request)
        return rendering.render(store, item, request.query, bare=bare)

    def _changed(self, kind: Any, item: Item, body: Body, request: Request) -> Item:
        options = request.query.get("options")
        if options and request.method == "PATCH" and kind.url == "ltm/data-group/internal":
            if not body:
                raise refusals.tmsh("one or more properties must be specified")
            return kind.change_records(self.store, item, options)
        change = kind.replace if request.method == "PUT" else kind.modify
        return change(self.store, item, kind.with_items(body))

    def _read(self, kind: Kind, key: Key, request: Request, *, bare: bool) -> Any:
        store = self.store
        item = store.get(kind.url, *key)
        if item is None:
            virtual_part = kind.parent == "ltm/virtual" and store.get("ltm/virtual", key[0]) is not None
            if virtual_part and store.has(Quirk.ABSENT_SUB_200):
                return self._stub(kind, key)
            raise kind.absent_get(store, key)
        reply = rendering.render(
            store, item, request.query, expand=rendering.expands(request.query), bare=bare
        )
        select = request.query.get("$select")
        return rendering.selected(reply, select) if select else reply

    def _stub(self, kind: Kind, key: Key) -> dict[str, Any]:
        """The 200 of 11.6 for an absent item of a virtual server's sub-collection (bigip-behaviour.md B1)."""
        name = key[-1].rsplit("/", 1)[1]
        return {
            "kind": rendering.state(kind),
            "name": name,
            "fullPath": name,
            "generation": self.store.generation,
            "selfLink": f"{rendering.collection_link(self.store, kind, key[:-1])}/{name}{suffix(self.store)}",
        }

    def _crypto_item(self, kind: Any, key: Key, request: Request) -> Any:
        file_kind = self.store.kinds[kind.file_kind]
        file = file_kind.find(self.store, key)
        if request.method == "DELETE":
            file_kind.delete(self.store, file)
            return None
        if request.method != "GET":
            raise refusals.tmsh("enter a valid option")
        return rendering.render(self.store, kind.view(self.store, file), request.query)


class Lie(Exception):
    """A refusal after which what was written stays."""

    def __init__(self, refusal: refusals.Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal

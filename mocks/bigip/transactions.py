"""/mgmt/tm/transaction: commands that are done together or not at all (bigip-behaviour.md A5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import refusals
from mocks.bigip.refusals import TRANSACTION, Refusal
from mocks.bigip.rendering import suffix
from mocks.bigip.requests import Request
from mocks.bigip.store import Store

_OUTSIDE = ("/mgmt/tm/util/", "/mgmt/shared/", "/mgmt/tm/transaction")


@dataclass
class Command:
    """A queued request. order: place in the commit."""

    number: int
    order: int
    request: Request


@dataclass
class Transaction:
    number: int
    opened: float
    commands: list[Command] = field(default_factory=list)
    state: str = "STARTED"


class Transactions:
    """perform: runs one request against the store and raises Refusal."""

    def __init__(self, store: Store, perform: Callable[[Request], Any]) -> None:
        self._store = store
        self._perform = perform
        self._open: dict[int, Transaction] = {}

    @property
    def _timeout_s(self) -> int:
        return 30 if self._store.version < (12,) else 120

    def clear(self) -> None:
        self._open.clear()

    def queue(self, request: Request) -> dict[str, Any]:
        """A request with the header X-F5-REST-Coordination-Id. Raises: Refusal: no such transaction."""
        transaction = self._find(request.headers["X-F5-REST-Coordination-Id"])
        if request.method == "GET":
            return self._perform(request)
        if request.path.startswith(_OUTSIDE):
            raise refusals.rest(
                f"Transaction {transaction.number} operation {request.path} is not allowed to be added "
                "to transaction."
            )
        request.json()
        number = len(transaction.commands) + 1
        command = Command(number, number, request)
        transaction.commands.append(command)
        if self._store.version < (12,):
            return self._shown(transaction)
        return self._shown_command(transaction, command)

    def answer(self, segments: list[str], request: Request) -> Any:
        """The end points below /mgmt/tm/transaction. Raises: Refusal."""
        if not segments:
            return self._collection(request)
        transaction = self._find(segments[0])
        if len(segments) > 1:
            return self._commands(transaction, segments[1:], request)
        if request.method == "GET":
            return self._shown(transaction)
        if request.method == "DELETE":
            del self._open[transaction.number]
            return None
        return self._change(transaction, request.body())

    def _collection(self, request: Request) -> dict[str, Any]:
        if request.method == "POST":
            number = self._store.next_number("transaction", 1_526_674_837_169_915)
            transaction = self._open[number] = Transaction(number, self._store.clock())
            return self._shown(transaction)
        if request.method != "GET":
            raise refusals.rest("Missing transaction ID for this call.", status=404)
        return {
            "items": [self._shown(transaction) for transaction in self._open.values()],
            "kind": "tm:transactioncollectionstate",
            "selfLink": f"https://localhost/mgmt/tm/transaction{suffix(self._store)}",
        }

    def _find(self, number: str) -> Transaction:
        """A transaction vanishes silently after its time (bigip-behaviour.md A5)."""
        transaction = self._open.get(int(number)) if number.isdigit() else None
        if transaction is not None and self._store.clock() > transaction.opened + self._timeout_s:
            del self._open[transaction.number]
            transaction = None
        if transaction is None:
            raise refusals.rest(f"Transaction not found - {number}", status=404)
        return transaction

    def _change(self, transaction: Transaction, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("state") != "VALIDATING":
            raise refusals.rest(f"invalid state {body.get('state')}")
        if not transaction.commands:
            raise refusals.rest("there is no command to commit in the transaction.", status=404)
        validate_only = bool(body.get("validateOnly"))
        if validate_only and self._store.version < (12,):
            raise refusals.unknown_property("validateOnly")
        try:
            self._commit(transaction, validate_only=validate_only)
        except Refusal as inner:
            transaction.state = "FAILED"
            self._open.pop(transaction.number, None)
            raise Refusal(400, f"transaction failed:{inner.message}", TRANSACTION) from inner
        transaction.state = "COMPLETED"
        if not validate_only:
            del self._open[transaction.number]
        return self._shown(transaction)

    def _commit(self, transaction: Transaction, *, validate_only: bool) -> None:
        try:
            with self._store.atomic():
                for command in sorted(transaction.commands, key=lambda queued: queued.order):
                    self._perform(command.request)
                if validate_only:
                    self._store.run_checks()
                    raise _Undo
        except _Undo:
            return

    def _commands(self, transaction: Transaction, segments: list[str], request: Request) -> Any:
        if segments[0] != "commands":
            raise refusals.rest(
                f"Found unexpected URI tmapi_mapper/transaction/{transaction.number}/{segments[0]}."
            )
        if len(segments) == 1:
            return {
                "items": [self._shown_command(transaction, command) for command in transaction.commands],
                "kind": "tm:transaction:commandscollectionstate",
                "selfLink": f"https://localhost/mgmt/tm/transaction/{transaction.number}/commands{suffix(self._store)}",
            }
        rest = "/".join(segments[1:])
        command = next((command for command in transaction.commands if str(command.number) == rest), None)
        if command is None:
            raise refusals.rest(f"Found invalid command id {rest}{'/' if '/' in rest else ''}")
        if request.method == "DELETE":
            transaction.commands.remove(command)
            return None
        if request.method == "PATCH":
            command.order = int(request.body().get("evalOrder", command.order))
        return self._shown_command(transaction, command)

    def _shown(self, transaction: Transaction) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "transId": transaction.number,
            "state": transaction.state,
            "timeoutSeconds": self._timeout_s,
        }
        if self._store.version >= (12,):
            shown |= {
                "asyncExecution": False,
                "validateOnly": False,
                "executionTimeout": 300,
                "executionTime": 0,
                "failureReason": "",
            }
        return {
            **shown,
            "kind": "tm:transactionstate",
            "selfLink": f"https://localhost/mgmt/tm/transaction/{transaction.number}{suffix(self._store)}",
        }

    def _shown_command(self, transaction: Transaction, command: Command) -> dict[str, Any]:
        return {
            "method": command.request.method,
            "uri": f"https://localhost{command.request.path}",
            "body": command.request.json(),
            "evalOrder": command.order,
            "commandId": command.number,
            "kind": "tm:transaction:commandsstate",
            "selfLink": f"https://localhost/mgmt/tm/transaction/{transaction.number}/commands/{command.number}"
            f"{suffix(self._store)}",
        }


class _Undo(Exception):
    """Ends a commit that only validates."""

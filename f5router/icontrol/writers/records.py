"""Writer of data-group records: one by one while few change, the whole list otherwise."""

import logging
from collections.abc import Callable, Mapping, Sequence

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.writer import Results, bisect
from f5router.model.errors import BigIPError, Conflict, NotFound, NotReady, Refused
from f5router.model.ltm import DataGroup, Record
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, UPDATE, Change

log = logging.getLogger(__name__)

SINGLY = 4
"""Up to this number, records are written one by one; more in one write of the whole list."""

LONG = 1000
"""A record with more characters of data is written in the body of a request: an address has less room."""

_VERBS = {CREATE: "add", UPDATE: "modify", DELETE: "delete"}


class RecordWriter:
    """Writes records of one data-group at a time."""

    kinds = (Record.KIND,)

    def __init__(self, client: Client, current: Callable[[str], list[Record]]):
        """Args: current: returns every record of a data-group that is there, as far as is known."""
        self._client, self._current = client, current

    def group(self, obj: Record) -> str:
        """Return the data-group of a record."""
        return obj.group

    def write(self, changes: Sequence[Change[Record]]) -> Results:
        """Write Changes of one data-group."""
        group = changes[0].obj.group
        if len(changes) > SINGLY or any(change.new and len(change.new.data) > LONG for change in changes):
            return self._whole(group, changes, self._current(group))
        results: Results = []
        for change in changes:
            try:
                self._single(group, change)
            except (Conflict, NotFound):
                return results + self._whole(group, changes[len(results):], self._read(group))
            except Refused as exc:
                log.info("record refused, writing the whole list",
                         extra={"group": group, "error": str(exc)})
                done = {c.ref: c.new for c in changes[:len(results)]}
                current = _applied(self._current(group), done)
                return results + self._whole(group, changes[len(results):], current)
            except BigIPError as exc:
                return results + [(rest, exc) for rest in changes[len(results):]]
            results.append((change, None))
        return results

    def _single(self, group: str, change: Change[Record]) -> None:
        """Write one record by `options=records add { name { data value } }`, in the syntax of tmsh.

        Names are Hosts, digests or full paths, and data are full paths of ours or words of letters, digits
        and / . _ -: no character of them has a meaning to tmsh. Source: bigip-behaviour.md A2.1.
        """
        record = change.obj
        value = "" if change.verb == DELETE else f" {{ data {record.data} }}"
        options = f"records {_VERBS[change.verb]} {{ {record.name}{value} }}"
        self._client.patch(
            item_path(DataGroup.KIND, group), {"name": group.rsplit("/", 1)[1]}, {"options": options}
        )

    def _whole(self, group: str, changes: Sequence[Change[Record]], current: list[Record]) -> Results:
        """Write the whole list once for all Changes."""
        def send(changes: list[Change[Record]]) -> Results:
            nonlocal current
            desired = _applied(current, {change.ref: change.new for change in changes})
            try:
                body = {"records": ltm_codec.encode_records(desired)}
                self._client.patch(item_path(DataGroup.KIND, group), body)
            except BigIPError as exc:
                if isinstance(exc, Refused) and not isinstance(exc, NotFound):
                    return bisect([[change] for change in changes], exc, send)
                return [(change, exc) for change in changes]
            current = desired
            return [(change, None) for change in changes]

        return send(list(changes))

    def _read(self, group: str) -> list[Record]:
        reply = self._client.get(item_path(DataGroup.KIND, group))
        try:
            return ltm_codec.decode_data_group(reply)[1]
        except ltm_codec.ODD as exc:
            raise NotReady("GET", item_path(DataGroup.KIND, group), f"reply not understood: {exc!r}") from exc


def _applied(current: list[Record], new: Mapping[Ref, Record | None]) -> list[Record]:
    kept: dict[Ref, Record | None] = {record.ref: record for record in current}
    kept.update(new)
    return [record for record in kept.values() if record is not None]

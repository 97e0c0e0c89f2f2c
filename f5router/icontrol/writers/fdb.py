"""FDB records of our tunnel: written one by one, or as one list; other people's records stay.

Source: bigip-behaviour.md B9: the sub-collection writes one record, the parent's PATCH replaces the list.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from f5router.icontrol.codec import net_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client, delete_if_there, get_if_there
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.writers.writer import Results, bisect
from f5router.model import tmos
from f5router.model.errors import BigIPError, Conflict, NotFound, Refused
from f5router.model.json_types import JSON
from f5router.model.net import FDBRecord
from f5router.model.objects import Ref
from f5router.plan.change import UPDATE, Change

FDB = "net/fdb/tunnel"

SINGLY = 4
"""Up to this number, records are written one by one; more in one write of the whole list."""


def read(client: Client, tunnel: str) -> list[JSON]:
    """Read every record of a tunnel; [] if there is no such tunnel. Raises: BigIPError."""
    body = get_if_there(client, item_path(FDB, tunnel), {"expandSubcollections": "true"}) or {}
    records = net_codec.raw_records(body)
    if not records and "recordsReference" in body:
        # Empty, or not expanded: records that were not read would be lost with the next list.
        records = net_codec.raw_records(get_if_there(client, item_path(FDB, tunnel, "records")) or {})
    return records


class FDBWriter:
    """Writes the records of one tunnel at a time."""

    kinds = (FDBRecord.KIND,)

    def __init__(self, client: Client):
        self._client = client
        self._singly = True

    def update_from(self, observation: Observation) -> None:
        """Adapt to the device's version."""
        self._singly = observation.facts.version >= tmos.FDB_SUBCOLLECTION_SINCE

    def group(self, obj: FDBRecord) -> str:
        """Return the tunnel of a record."""
        return obj.tunnel

    def write(self, changes: Sequence[Change[FDBRecord]]) -> Results:
        """Write Changes of one tunnel."""
        tunnel = changes[0].obj.tunnel
        if not self._singly or len(changes) > SINGLY or any(change.verb == UPDATE for change in changes):
            return self._merged(tunnel, changes)
        results: Results = []
        for change in changes:
            try:
                self._write_single(tunnel, change)
            except BigIPError as exc:
                results.append((change, exc))
                if not isinstance(exc, Refused):
                    return results
            else:
                results.append((change, None))
        return results

    def _write_single(self, tunnel: str, change: Change[FDBRecord]) -> None:
        if change.new is not None:
            self._create(tunnel, change.new)
            return
        delete_if_there(self._client, item_path(FDB, tunnel, "records", change.obj.mac),
                        lambda: change.ref in self._read(tunnel))

    def _create(self, tunnel: str, record: FDBRecord) -> None:
        try:
            self._client.post(item_path(FDB, tunnel, "records"), net_codec.encode_record(record))
        except (Conflict, NotFound) as exc:
            # There already; or created, and answered 404 as some sub-collections do (bigip-behaviour.md B1).
            if self._read(tunnel).get(record.ref) == record:
                return
            if isinstance(exc, NotFound):
                raise
            self._send(tunnel, {record.ref: record})

    def _read(self, tunnel: str) -> dict[Ref, FDBRecord]:
        return {record.ref: record for record in net_codec.decode_records(tunnel, read(self._client, tunnel))}

    def _merged(self, tunnel: str, changes: Sequence[Change[FDBRecord]]) -> Results:
        """Write the whole list once for all Changes."""
        try:
            self._send(tunnel, {change.ref: change.new for change in changes})
        except Refused as exc:
            return bisect([[change] for change in changes], exc, partial(self._merged, tunnel))
        except BigIPError as exc:
            return [(change, exc) for change in changes]
        return [(change, None) for change in changes]

    def _send(self, tunnel: str, desired: Mapping[Ref, FDBRecord | None]) -> None:
        """Read the list, merge the records, write it; other people's records are sent back unchanged."""
        raw = read(self._client, tunnel)
        records = net_codec.decode_records(tunnel, raw)
        kept = [net_codec.sendable(item) for item, record in zip(raw, records, strict=True)
                if record.ref not in desired]
        ours = [net_codec.encode_record(record) for _, record in sorted(desired.items())
                if record is not None]
        self._client.patch(item_path(FDB, tunnel), {"records": kept + ours})


def restore(client: Client, tunnel: str, raw: list[JSON]) -> None:
    """Write the earlier records of a recreated tunnel. Raises: BigIPError."""
    if raw:
        client.patch(item_path(FDB, tunnel), {"records": [net_codec.sendable(item) for item in raw]})

"""Reactions to a sync status: nothing is synced unless the device recommends it."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f5router.app.config_sync import ConfigSyncer, decide
from f5router.app.timing import SyncTiming
from f5router.icontrol.config_sync import DeviceGroup, SyncStatus, group_of, status_of
from f5router.model.errors import Busy, NotFound, Refused, Standby

RECORDINGS = Path(__file__).parents[2] / "recordings" / "cm"
PAIR, AUTO = DeviceGroup("/Common/pair", False), DeviceGroup("/Common/pair", True)
OWN = frozenset({"bigip1.example.com", "/Common/bigip1.example.com"})
INHERITED = {"deviceGroup": "none", "inheritedDevicegroup": "true"}


def recorded(path: str) -> dict:
    return json.loads((RECORDINGS / path).read_text())


def reply(status: str, color: str, *details: str, summary: str = "") -> dict:
    lines = {f"https://localhost/mgmt/tm/cm/syncStatus/0/details/{n}": {
        "nestedStats": {"entries": {"details": {"description": text}}}} for n, text in enumerate(details)}
    entries = {"color": {"description": color}, "mode": {"description": "high-availability"},
               "https://localhost/mgmt/tm/cm/syncStatus/0/details": {"nestedStats": {"entries": lines}},
               "status": {"description": status}, "summary": {"description": summary}}
    url = "https://localhost/mgmt/tm/cm/sync-status/0"
    return {"entries": {url: {"nestedStats": {"entries": entries}}}}


CONNECTED = "bigip2.example.com: connected"
PENDING = "pair (Changes Pending): One or more devices in the device group have changes pending"
CONFLICT = ("pair (Changes Pending): There is a possible change conflict between bigip1.example.com and "
            "bigip2.example.com.")
OURS = " - Recommended action: Synchronize bigip1.example.com to group pair"
THEIRS = " - Recommended action: Synchronize bigip2.example.com to group pair"


@pytest.mark.parametrize(("answer", "expected"), [
    pytest.param(reply("In Sync", "green", CONNECTED, "pair (In Sync): All devices"),
                 SyncStatus("In Sync", "All devices"), id="in sync"),
    pytest.param(reply("Changes Pending", "yellow", CONNECTED, PENDING, OURS),
                 SyncStatus("Changes Pending", PENDING.split(": ", 1)[1], False, "bigip1.example.com"),
                 id="pending"),
    pytest.param(reply("Changes Pending", "red", CONNECTED, CONFLICT, OURS),
                 SyncStatus("Changes Pending", CONFLICT.split(": ", 1)[1], True, "bigip1.example.com"),
                 id="conflict"),
    pytest.param(reply("Changes Pending", "red", CONNECTED, "pair (Changes Pending): ", OURS),
                 SyncStatus("Changes Pending", "", True, "bigip1.example.com"), id="red without words"),
    pytest.param(reply("Changes Pending", "yellow", "other (Changes Pending): x",
                       " - Recommended action: Synchronize bigip2.example.com to group other"),
                 SyncStatus("In Sync"), id="another group, ours left out"),
    pytest.param(reply("Changes Pending", "red", PENDING, OURS, "gtm (Changes Pending): conflict"),
                 SyncStatus("Changes Pending", PENDING.split(": ", 1)[1], True, "bigip1.example.com"),
                 id="red, perhaps for another group"),
    pytest.param(reply("Disconnected", "red", summary="gone"), SyncStatus("Disconnected", "gone"),
                 id="no groups listed"),
    pytest.param({}, SyncStatus(""), id="nothing"),
])
def test_status_of(answer, expected):
    assert status_of(PAIR, answer) == expected


@pytest.mark.parametrize(("name", "status"), [
    ("11.6.0", "Standalone"), ("13.0.0", ""), ("14.1.2.1", "Standalone"), ("14.1.4.6", "In Sync"),
    ("16.0.0", "Standalone"),
])
def test_recorded_statuses(name, status):
    assert status_of(PAIR, recorded(f"sync-status/{name}--get.json")).status == status


def group(path: str, kind: str = "sync-failover", auto: str = "disabled") -> dict:
    return {"fullPath": path, "type": kind, "autoSync": auto}


@pytest.mark.parametrize(("folder", "items", "expected"), [
    ({"deviceGroup": "/Common/pair"}, [group("/Common/pair")], PAIR),
    ({"deviceGroup": "/Common/pair"}, [group("/Common/pair", auto="enabled")], AUTO),
    (INHERITED, [group("/Common/pair"), group("/Common/device_trust_group", "sync-only")], PAIR),
    (INHERITED, [group("/Common/pair"), group("/Common/two")], None),
    ({"deviceGroup": "none", "inheritedDevicegroup": "false"}, [group("/Common/pair")], None),
    (INHERITED, [], None), ({}, [group("/Common/pair")], None),
    ({"deviceGroup": "/Common/gone"}, [group("/Common/pair")], None),
], ids=["named", "auto", "inherited", "two groups", "opted out", "alone", "folder not known", "gone"])
def test_group_of(folder, items, expected):
    assert group_of(folder, {"items": items}) == expected


@pytest.mark.parametrize("path", sorted((RECORDINGS / "device-group").glob("*.json")), ids=lambda p: p.stem)
def test_a_recorded_device_alone_has_no_group(path):
    assert group_of(INHERITED, json.loads(path.read_text())) is None


def pending(*, conflict: bool = False, source: str = "bigip1.example.com") -> SyncStatus:
    return SyncStatus("Changes Pending", "", conflict, source)


@pytest.mark.parametrize(("group", "status", "pushed", "problem"), [
    pytest.param(PAIR, SyncStatus("In Sync"), False, "", id="in sync"),
    pytest.param(PAIR, SyncStatus("Standalone"), False, "", id="alone"),
    pytest.param(PAIR, pending(), True, "", id="ours"),
    pytest.param(AUTO, pending(), False, "does not sync automatically", id="auto-sync"),
    pytest.param(PAIR, pending(conflict=True), False, "changes on several units", id="conflict"),
    pytest.param(AUTO, pending(conflict=True), False, "changes on several units",
                 id="conflict, auto-sync"),
    pytest.param(PAIR, pending(source="bigip2.example.com"), False, "recommends bigip2",
                 id="the peer's"),
    pytest.param(PAIR, pending(source=""), False, "recommends no source", id="no direction"),
    pytest.param(PAIR, SyncStatus("Awaiting Initial Sync"), False, "initial sync", id="initial"),
    pytest.param(AUTO, SyncStatus("Awaiting Initial Sync"), False, "", id="initial, auto-sync"),
    pytest.param(PAIR, SyncStatus("Syncing"), False, "Syncing", id="under way"),
    pytest.param(PAIR, SyncStatus("Disconnected", "gone"), False, "Disconnected: gone", id="disconnected"),
    pytest.param(PAIR, SyncStatus("offline"), False, "offline", id="unknown"),
    pytest.param(PAIR, SyncStatus(""), False, "no sync status", id="nothing told"),
])
def test_decide(group, status, pushed, problem):
    decision = decide(group, status, OWN, push=True)
    assert decision.push == pushed
    assert problem in decision.problem
    assert bool(decision.problem) == bool(problem)


def test_without_push_the_command_is_told():
    decision = decide(PAIR, pending(), OWN, push=False)
    assert not decision.push
    assert "tmsh run cm config-sync to-group pair" in decision.problem


LINES = st.sampled_from([CONNECTED, PENDING, CONFLICT, OURS, THEIRS, "pair (In Sync): x",
                         "other (Syncing): y"])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["In Sync", "Changes Pending", "Disconnected", "Syncing"]),
       st.sampled_from(["green", "yellow", "red", "blue"]), st.lists(LINES, max_size=5), st.booleans())
def test_nothing_is_pushed_over_changes_of_others(status, color, lines, auto):
    """Whatever is reported: only where our group is pending, this unit its source, and nowhere a conflict."""
    group = DeviceGroup("/Common/pair", auto)
    decision = decide(group, status_of(group, reply(status, color, *lines)), OWN, push=True)
    if decision.push:
        named = [line for line in lines if line in (OURS, THEIRS)]
        assert named[-1] == OURS
        assert not auto
        assert color != "red"
        last = [line for line in lines if line.startswith("pair (")][-1:]
        assert last == [PENDING] or (not last and status == "Changes Pending")


class Sync:
    """A device of a pair that answers what it is set to."""

    def __init__(self, status: SyncStatus, group: DeviceGroup | None = PAIR):
        self.device_group, self.answer, self.pushed, self.error = group, status, 0, None

    def group(self, folder):
        if self.error:
            raise self.error
        return self.device_group

    def status(self, group):
        return self.answer

    def own_names(self):
        return OWN

    def push(self, group):
        self.pushed += 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def syncer(sync: Sync, clock: Clock, mode: str = "push", active=lambda: None) -> ConfigSyncer:
    return ConfigSyncer(sync, mode=mode, require_active=active, folder=dict, clock=clock)


def run_until(syncing: ConfigSyncer, clock: Clock, end: float) -> None:
    """Do every step that is due."""
    while (at := syncing.due_at()) is not None and at <= end:
        clock.now = max(clock.now, at)
        syncing.step()
    clock.now = end


def test_whether_there_is_a_device_group_is_not_known_before_an_answer():
    clock, sync = Clock(), Sync(SyncStatus("In Sync"), None)
    syncing, sync.error = syncer(sync, clock), Busy(text="busy", status=503)
    syncing.step()
    assert not syncing.has_looked
    sync.error = None
    syncing.step()
    assert (syncing.has_looked, syncing.state) == (True, "")
    sync.device_group = PAIR
    syncing.step()
    assert (syncing.has_looked, syncing.state) == (True, "in sync")


def test_a_series_of_changes_is_one_sync():
    clock, sync = Clock(), Sync(pending())
    syncing = syncer(sync, clock)
    assert syncing.due_at() is None
    for clock.now in range(5):
        syncing.changed()
    assert syncing.due_at() == 4 + SyncTiming().settle_s
    clock.now = syncing.due_at()
    syncing.step()
    assert (sync.pushed, syncing.in_sync) == (1, False)
    sync.answer = SyncStatus("In Sync")
    run_until(syncing, clock, 60)
    assert (sync.pushed, syncing.in_sync, syncing.due_at()) == (1, True, None)


def test_a_sync_that_changes_nothing_is_told_and_tried_again_later(caplog):
    clock, sync = Clock(), Sync(pending())
    syncing = syncer(sync, clock)
    syncing.changed()
    run_until(syncing, clock, SyncTiming().patience_s)
    assert (sync.pushed, caplog.records) == (1, [])
    run_until(syncing, clock, SyncTiming().patience_s + 30)
    assert [record.problem for record in caplog.records] == ["started, but changes are pending still"]
    for end in (syncing.due_at(), 1000):  # also while the next sync is under way
        run_until(syncing, clock, end)
        assert syncing.state == "started, but changes are pending still"
    assert 2 <= sync.pushed <= 1000 / (SyncTiming().patience_s + SyncTiming().problem_s) + 1


def test_a_conflict_is_told_once_and_its_end(caplog):
    caplog.set_level("INFO")
    clock, sync = Clock(), Sync(pending(conflict=True))
    syncing = syncer(sync, clock)
    syncing.changed()
    run_until(syncing, clock, 600)
    sync.answer = SyncStatus("In Sync")
    run_until(syncing, clock, 700)
    assert [record.getMessage() for record in caplog.records] == ["config sync of the BIG-IP",
                                                                  "problem resolved"]
    assert (sync.pushed, syncing.due_at()) == (0, None)


def test_a_unit_that_is_not_active_any_more_pushes_nothing(caplog):
    def standby() -> None:
        raise Standby(text="the unit is STANDBY")

    clock, sync = Clock(), Sync(pending())
    syncing = syncer(sync, clock, active=standby)
    syncing.changed()
    run_until(syncing, clock, 600)
    assert (sync.pushed, caplog.records) == (0, [])


def test_a_role_without_the_right_is_told_a_busy_device_asked_again(caplog):
    clock, sync = Clock(), Sync(pending())
    sync.error = Busy(text="There is an active asynchronous task executing.", status=503)
    syncing = syncer(sync, clock)
    syncing.changed()
    run_until(syncing, clock, 60)
    assert caplog.records == []
    sync.error = Refused(text="Found unexpected URI", status=400)
    run_until(syncing, clock, 600)
    assert ["unexpected URI" in record.problem for record in caplog.records] == [True]
    sync.error = None
    run_until(syncing, clock, 660)
    assert sync.pushed == 1


def test_one_odd_refusal_passes_at_once():
    """Refusals in a row make the next look ever later."""
    clock, sync = Clock(), Sync(pending())
    sync.error = NotFound(text="not there", status=404)
    syncing = syncer(sync, clock)
    syncing.changed()
    waits = []
    for _ in range(6):
        clock.now = syncing.due_at()
        syncing.step()
        waits.append(syncing.due_at() - clock.now)
    assert waits == [5, 10, 20, 40, 60, 60]
    sync.error = None
    run_until(syncing, clock, syncing.due_at())
    assert sync.pushed == 1


def test_off_looks_at_nothing():
    syncing = syncer(Sync(pending()), Clock(), mode="off")
    syncing.changed()
    assert syncing.due_at() is None

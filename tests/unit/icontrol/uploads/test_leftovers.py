"""Certificate and key files on the device's disk: none stays, whatever becomes of a request; others' stay.

Longer than other modules: the ways in which a file can be left, all on the same device.
"""

import logging
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import ClientSettings
from f5router.icontrol.uploads.leftovers import AGE_S, FOLDERS, REMOVE_S, Leftovers, UploadOrigin
from f5router.icontrol.uploads.rest_upload import LATE_S, TOGETHER, RESTUploader
from f5router.model import tls_names
from f5router.model.cluster import Key
from f5router.model.errors import BigIPError
from mocks.bigip import FakeBigIP
from mocks.bigip.store import DiskFile
from tests.examples import examples

DOWNLOADS, PARTIAL, TMP = FOLDERS
DATA = b"-----BEGIN PRIVATE KEY-----\n"
UPLOAD, REMOVE = "file-transfer/uploads", "util/unix-rm"
NOW = 1_700_000_000.0
LOST = ("drop-reply", "drop-request", "503-html", "503-async", "500-mcpd", "404-not-registered", "html-200",
        "truncated-json", "timeout-html", "refuse")


class Clock:
    """Seconds that only a test moves, or that pass with each look at the clock."""

    def __init__(self, tick_s: float = 0.0):
        self.now, self._tick_s = 1000.0, tick_s

    def __call__(self) -> float:
        self.now += self._tick_s
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(scope="module")
def device():
    with FakeBigIP() as big:
        yield big


@pytest.fixture
def big(device):
    """The device with an empty disk and without faults."""
    clean(device)
    return device


def clean(device) -> None:
    device.clear_faults()
    device.deliver_late()
    device.store.disk.clear()
    device.clear_log()


@contextmanager
def connected(big, clock, **changes):
    """A client of a user."""
    settings = ClientSettings(base_url=big.url, verify=str(big.ca_file), retry_s=1, **{
        "username": big.username, "password": big.password, **changes})
    with Client(settings, clock=clock, sleep=clock.sleep) as client:
        yield client


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def client(big, clock):
    with connected(big, clock) as own_client:
        yield own_client


@pytest.fixture
def uploader(client, clock):
    return RESTUploader(client, clock=clock)


def origin(
    folder: str = "/P", host: str = "pod-1", process: int = 7, *, at: float = NOW, running=(),
) -> UploadOrigin:
    return UploadOrigin(folder, host, process, lambda: at, lambda number: number in running)


def left(client, clock, *, who: UploadOrigin | None = None, in_use=()) -> Leftovers:
    return Leftovers(client, who or origin(), lambda: in_use, clock=clock)


def stage(uploader, name: str) -> bool:
    """Upload and remove a file; False when the upload failed."""
    try:
        with uploader.staged(f"{DOWNLOADS}/{name}", DATA):
            return True
    except BigIPError:
        return False


# --- one upload --------------------------------------------------------------------------


def test_a_file_is_there_within_the_block(big, uploader):
    path = f"{DOWNLOADS}/a.key"
    with uploader.staged(path, DATA):
        assert big.store.disk == {path: DiskFile(DATA)}
        assert uploader.in_use == {path}
    assert big.store.disk == {}
    assert (uploader.in_use, uploader.leftovers) == (frozenset(), ())


@pytest.mark.parametrize("kind", [*LOST, "command-fails"])
def test_a_removal_that_fails_is_remembered_and_repeated(big, uploader, caplog, kind):
    """With the next file, whatever the failure was; the removal may have been done."""
    big.inject(kind, method="POST", path=REMOVE)
    assert stage(uploader, "a.key")
    assert uploader.leftovers == (f"{DOWNLOADS}/a.key",)
    assert "uploaded file may be left" in caplog.text
    assert stage(uploader, "b.key")
    assert (big.store.disk, uploader.leftovers) == ({}, ())


@contextmanager
def two_staged(uploader):
    """Two files that are in use at the same time; the first ends before the second."""
    with uploader.staged(f"{DOWNLOADS}/b.key", DATA):
        with uploader.staged(f"{DOWNLOADS}/a.key", DATA):
            pass
        yield


def removals(big) -> int:
    return sum(entry.path.endswith(REMOVE) for entry in big.log)


def test_files_that_are_in_use_at_the_same_time_are_removed_together(big, uploader):
    with two_staged(uploader):
        assert (len(big.store.disk), removals(big)) == (2, 0)
    assert (big.store.disk, uploader.leftovers, removals(big)) == ({}, (), 1)


def test_many_files_do_not_wait_for_one(big, uploader):
    with uploader.staged(f"{DOWNLOADS}/slow.key", DATA):
        for number in range(TOGETHER):
            stage(uploader, f"{number}.key")
        assert (len(big.store.disk), removals(big)) == (1, 1)
    assert big.store.disk == {}


def test_a_command_that_takes_one_path(clock):
    """It says that there is no such file: each is removed by itself."""
    with FakeBigIP(quirks={"rm-one-path"}) as big, connected(big, clock) as client:
        uploader = RESTUploader(client, clock=clock)
        with two_staged(uploader):
            pass
        assert (big.store.disk, uploader.leftovers) == ({}, ())


@pytest.mark.parametrize("kind", [*LOST, "command-fails"])
def test_a_common_removal_that_fails(big, uploader, kind):
    """The removal may have been done. What is left goes with the next file."""
    big.inject(kind, method="POST", path=REMOVE)
    with two_staged(uploader):
        pass
    assert stage(uploader, "c.key")
    assert (big.store.disk, uploader.leftovers) == ({}, ())


@pytest.mark.parametrize("end", ["retry", "close"])
def test_a_leftover_goes_without_another_upload(big, uploader, end):
    """At the next full pass, and when the router ends."""
    big.inject("command-fails", path=REMOVE)
    stage(uploader, "a.key")
    assert big.store.disk
    getattr(uploader, end)()
    assert (big.store.disk, uploader.leftovers) == ({}, ())


@pytest.mark.parametrize("requests", [1, 2, 3, 99])
def test_an_upload_that_comes_late_is_removed(big, uploader, clock, requests):
    """Its reply was lost; the device completes it after the second try, or after the removal."""
    big.inject("late", method="POST", path=UPLOAD, requests=requests)
    assert stage(uploader, "a.key")
    big.deliver_late()
    uploader.retry()
    assert big.store.disk == {}
    assert uploader.leftovers, "it may come later still"
    clock.now += LATE_S
    uploader.retry()
    assert uploader.leftovers == ()


def test_an_upload_that_fails_altogether_may_still_come(big, uploader):
    big.inject("late", times=3, method="POST", path=UPLOAD, requests=99)
    assert not stage(uploader, "a.key")
    assert big.store.disk == {}
    big.deliver_late()
    assert big.store.disk
    uploader.retry()
    assert big.store.disk == {}


def test_a_part_of_an_upload_is_removed(big, uploader):
    """The device keeps it in a folder of its own."""
    big.inject("503-html", method="POST", path=UPLOAD, times=None)
    put(big, f"{PARTIAL}/a.key")
    assert not stage(uploader, "a.key")
    uploader.retry()
    assert big.store.disk == {}


def test_no_removal_is_sent_where_nothing_can_have_come(big, clock):
    """A user who may not upload, and a device that is not there."""
    big.add_user("manager", "x", role="manager")
    with connected(big, clock, username="manager", password="x") as client:
        uploader = RESTUploader(client, clock=clock)
        assert not stage(uploader, "a.key")
    assert uploader.leftovers == ()
    assert not [entry for entry in big.log if REMOVE in entry.path]


def test_a_retry_of_many_leftovers_has_an_end(big, client):
    """A device that lets each removal wait holds up the router for a moment only."""
    uploader = RESTUploader(client, clock=Clock(tick_s=1.0))
    big.inject("command-fails", times=None, path=REMOVE)
    for number in range(20):
        stage(uploader, f"{number}.key")
    big.clear_faults()
    counts = []
    while big.store.disk and len(counts) < 20:
        uploader.retry()
        counts.append(len(big.store.disk))
    assert 10 < counts[0] < 20
    assert counts[-1] == 0


FAULTS = st.lists(st.tuples(
    st.sampled_from([*LOST, "command-fails", "late"]), st.sampled_from([UPLOAD, REMOVE]), st.integers(1, 4)),
    max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(FAULTS)
def test_nothing_stays_after_any_faults(device, faults):
    """Six uploads among faults; when they are over, one full pass leaves nothing on the disk."""
    clean(device)
    clock = Clock()
    for kind, path, number in faults:
        if kind == "command-fails":
            path = REMOVE
        options = {"requests": number} if kind == "late" else {}
        device.inject(kind, times=number, method="POST", path=path, **options)
    with connected(device, clock) as client:
        uploader = RESTUploader(client, clock=clock)
        who = origin()
        for _ in range(6):
            stage(uploader, who.new_name("key"))
        device.clear_faults()
        device.deliver_late()
        Leftovers(client, who, lambda: uploader.in_use, clock=clock).sweep(())
        assert device.store.disk == {}


# --- what an earlier run left ------------------------------------------------------------


def put(big, *paths: str) -> None:
    big.store.disk.update({path: DiskFile(DATA) for path in paths})


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(("who", "removed"), [
    pytest.param(origin(), True, id="this process, before a restart"),
    pytest.param(origin(process=8), True, id="an ended process of this pod"),
    pytest.param(origin(process=9), False, id="a process of this pod that runs"),
    pytest.param(origin(process=9, at=NOW - AGE_S), True, id="a process that runs, long ago"),
    pytest.param(origin(host="pod-2"), False, id="another replica"),
    pytest.param(origin(host="pod-2", at=NOW - AGE_S + 1), False, id="another replica, a while ago"),
    pytest.param(origin(host="pod-2", at=NOW - AGE_S), True, id="another replica, long ago"),
    pytest.param(origin(host="pod-2", at=NOW + 10 * AGE_S), True, id="another replica with a wrong clock"),
    pytest.param(origin("/Q", at=0), False, id="a router of another partition"),
    pytest.param(origin("/P/sub", at=0), False, id="a router of a folder below"),
])
def test_whose_file_is_removed(big, client, clock, folder, who, removed):
    path = f"{folder}/{who.new_name('key')}"
    put(big, path, f"{folder}/other")
    left(client, clock, who=origin(running={9})).sweep(())
    assert big.store.disk.keys() == ({f"{folder}/other"} if removed else {path, f"{folder}/other"})


def test_a_file_in_use_stays(big, client, clock):
    path = f"{DOWNLOADS}/{origin(at=0).new_name('key')}"
    put(big, path)
    left(client, clock, in_use={path}).sweep(())
    assert list(big.store.disk) == [path]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.text(st.characters(min_codepoint=32, exclude_characters="/", codec="utf-8"), min_size=1,
                        max_size=60), unique=True, max_size=8))
def test_no_other_file_is_touched(device, others):
    """Whatever is called how in these folders; a name with a line's end is several names to us."""
    clean(device)
    paths = [f"{folder}/{name}" for folder in FOLDERS for name in others if name not in (".", "..", "tmp")]
    put(device, *paths)
    clock = Clock()
    with connected(device, clock) as client:
        sweeper = left(client, clock)
        sweeper.sweep(())
        clock.now += AGE_S
        sweeper.sweep(())
    assert set(device.store.disk) == set(paths)
    assert not [entry for entry in device.log if REMOVE in entry.path]


def test_an_upload_of_an_earlier_release_goes_when_it_is_certain(big, client, clock):
    """It is installed in our folder, and was there for long; before, and without that, it stays."""
    key, other = (tls_names.key_file("/P", Key("shop", route), "public") for route in "ab")
    ours, foreign = (f"{TMP}/{path.rsplit('/', 1)[1]}" for path in (key, other))
    original = f"{TMP}/openshift_route_shop_a-https-key.key"
    put(big, ours, foreign, original)
    sweeper = left(client, clock)
    sweeper.sweep({key})
    clock.now += AGE_S - 1
    sweeper.sweep({key})
    assert set(big.store.disk) == {ours, foreign, original}
    clock.now += 1
    sweeper.sweep({key})
    assert set(big.store.disk) == {foreign, original}


def test_an_upload_of_an_earlier_release_that_is_not_installed_stays(big, client, clock):
    key = tls_names.key_file("/P", Key("shop", "a"), "public")
    put(big, f"{TMP}/{key.rsplit('/', 1)[1]}")
    sweeper = left(client, clock)
    for _ in range(3):
        sweeper.sweep({key.replace("/P/", "/Q/")})
        clock.now += AGE_S
    assert big.store.disk


# --- where the device refuses ------------------------------------------------------------


def test_a_refused_listing_is_told_once(big, clock, caplog):
    """A role without the right: the log tells what it means, and no pass suffers."""
    caplog.set_level(logging.INFO)
    big.add_user("manager", "x", role="manager")
    with connected(big, clock, username="manager", password="x") as client:
        sweeper = left(client, clock)
        for _ in range(3):
            sweeper.sweep(())
    told = [record for record in caplog.records if getattr(record, "problem", "").startswith(DOWNLOADS)]
    assert len(told) == 1
    assert "role Administrator" in told[0].problem


@pytest.mark.parametrize("kind", LOST)
@pytest.mark.parametrize("path", ["util/unix-ls", REMOVE])
def test_the_next_sweep_does_what_a_failed_one_did_not(big, client, clock, kind, path):
    put(big, *(f"{folder}/{origin().new_name('key')}" for folder in FOLDERS))
    big.inject(kind, method="POST", path=path)
    sweeper = left(client, clock)
    sweeper.sweep(())
    sweeper.sweep(())
    assert big.store.disk == {}


def test_folders_that_are_not_there_are_empty(big, client, clock, caplog):
    """A device that never took an upload has no folder for them."""
    left(client, clock).sweep(())
    assert caplog.text == ""


def test_what_cannot_be_removed_keeps_nothing_else(big, client, clock, caplog):
    """Folders with names of ours, made by somebody: they stay, and are told of once each."""
    stuck = [f"{DOWNLOADS}/{origin(process=number).new_name('key')}/x" for number in range(5)]
    put(big, *stuck, *(f"{TMP}/{origin().new_name('key')}" for _ in range(3)))
    sweeper = left(client, clock)
    for _ in range(4):
        sweeper.sweep(())
    assert set(big.store.disk) == set(stuck)
    assert len([record for record in caplog.records if "Is a directory" in record.problem]) <= 2 * len(stuck)


def test_leftovers_that_cannot_be_removed_keep_no_others(big, client, clock):
    """A retry ends after a few failures, and the next one begins with the others."""
    uploader = RESTUploader(client, clock=clock)
    big.inject("command-fails", times=None, path=REMOVE)
    for number in range(7):
        stage(uploader, f"{number}.key")
    big.clear_log()
    uploader.retry()
    assert len(big.log) == 3
    big.clear_faults()
    big.inject("command-fails", times=3, path=REMOVE)
    uploader.retry()
    uploader.retry()
    assert big.store.disk == {}


def test_a_sweep_has_an_end(big, client):
    """Each sweep removes a limited number of files."""
    put(big, *(f"{TMP}/{origin().new_name('key')}" for _ in range(12)))
    sweeper, counts = left(client, Clock(tick_s=REMOVE_S / 3)), []
    while big.store.disk and len(counts) < 12:
        sweeper.sweep(())
        counts.append(len(big.store.disk))
    assert 6 < counts[0] < 12
    assert counts[-1] == 0

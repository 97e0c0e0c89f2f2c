"""Settings of the process, in a process of its own."""

import gc
import subprocess
import sys

from f5router.cli import invocation, settings_command

HEAPS = """
import ctypes, threading
from f5router.cli import settings_command
settings_command.relieve_collector()
together = threading.Barrier(4)
def take():
    together.wait()
    kept.append(bytearray(10_000))
    together.wait()
kept = []
threads = [threading.Thread(target=take) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def test_threads_share_one_heap():
    """As glibc lists its heaps."""
    listed = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True)
    assert listed.stdout.count("<heap nr=") == 1


CYCLE = """
from f5router.cli import settings_command
settings_command.relieve_collector()
class Tenant:
    def __init__(self):
        self.cluster = {"tenant": self}
    def __del__(self):
        print("freed")
Tenant()
"""


def test_what_a_command_has_left_is_collected():
    """Not kept by the next one of the process."""
    name = f"{settings_command.__package__}.preflight"
    invocation.loaded(name)
    before = gc.get_freeze_count()
    left = [[] for _ in range(3)]
    assert invocation.loaded(name) is sys.modules[name]
    assert (gc.get_freeze_count(), len(left)) == (before, 3)


def test_nothing_is_freed_at_the_end():
    """Neither objects that refer to each other: looking for them takes long where there are many."""
    ended = subprocess.run([sys.executable, "-c", CYCLE], capture_output=True, text=True, check=True)
    assert ended.stdout == ""

"""Settings of the process, in a process of its own."""

import subprocess
import sys

HEAPS = """
import ctypes, threading
from f5router.cli import collector
collector.relieve()
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

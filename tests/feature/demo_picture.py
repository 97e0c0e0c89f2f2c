"""Takes the picture of the status page for README.md, from the demo: python -m tests.feature.demo_picture."""

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.feature.browser import chromium
from tests.waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "demo.png"
SIZE = (1180, 640)
SHOWN, LISTENS = "In another terminal", re.compile(r"status page at (http://\S+)")


def main() -> None:
    """Run the demo until it has shown everything, and write the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with demo(folder / "output") as url, chromium(folder) as browser:
            browser.size(*SIZE)
            browser.scheme("light")
            browser.open(f"{url}#/routes")
            browser.wait_text("shop.example.com")
            browser.wait_text("Live", "#live")
            browser.picture(PICTURE)


@contextmanager
def demo(output: Path) -> Iterator[str]:
    """Run the demo; yields the address of the status page once everything has been shown."""
    with output.open("wb") as file:
        process = subprocess.Popen([sys.executable, "-m", "mocks.demo"], cwd=ROOT, stdout=file,
                                   stderr=subprocess.STDOUT)
    try:
        until(lambda: process.poll() is not None or SHOWN in output.read_text(), output.read_text)
        address = LISTENS.search(output.read_text())
        if not address:
            raise RuntimeError(output.read_text())
        yield address[1]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(DEADLINE_S)


if __name__ == "__main__":
    main()

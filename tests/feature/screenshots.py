"""Takes the pictures of docs/status-page.md: python -m tests.feature.screenshots."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.feature.browser import PHONE, chromium
from tests.feature.status_site import LOGIN, TROUBLE, StatusSite

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
DESK = (1180, 660)

PICTURES = {
    "status-routes": ("routes", "old.example.com", DESK, "light"),
    "status-routes-dark": ("routes", "old.example.com", DESK, "dark"),
    "status-route": ("routes/shop/web", "Redirect", DESK, "light"),
    "status-route-broken": ("routes/shop/empty", "To do", DESK, "dark"),
    "status-phone": ("routes/shop/web", "Redirect", PHONE, "light"),
}
"""By name of the file: address, a text that is waited for, size, light or dark."""


def main() -> None:
    """Start fakes, a router and a browser, and write each picture."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site, browser = StatusSite(stack, folder), stack.enter_context(chromium(folder))
        browser.login(*LOGIN)
        for name, (address, text, size, scheme) in PICTURES.items():
            browser.size(*size)
            browser.scheme(scheme)
            browser.open("about:blank")
            browser.open(f"{site.url}#/{address}")
            browser.wait_text(text)
            browser.wait_text("Live", "#live")
            browser.wait_text(TROUBLE, "#summary")
            browser.picture(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()

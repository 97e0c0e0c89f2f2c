"""Chromium without a screen, driven by Selenium; both of Debian, nothing is downloaded."""

import base64
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.waiting import DEADLINE_S, until

DESK, PHONE = (1280, 860), (390, 844)
ATTEMPTS = 4
"""To start the browser, each of which ends after a minute at most."""


class Browser:
    """One window."""

    def __init__(self, driver: Chrome):
        self.driver = driver

    def size(self, width: int, height: int) -> None:
        """Give the page a size, as a phone or a desk has it."""
        self.command("Emulation.setScrollbarsHidden", hidden=True)
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)

    def scheme(self, name: str) -> None:
        """Prefer light or dark."""
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": name}])

    def login(self, user: str, password: str) -> None:
        """Send a login with each request, as the browser does once somebody has typed it."""
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.command("Network.enable")
        self.command("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {token}"})

    def command(self, name: str, **parameters: object) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    def open(self, url: str) -> None:
        self.driver.get(url)

    def find(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "#view") -> str:
        """All text of an element, at once: the page may be redrawn meanwhile."""
        return str(self.driver.execute_script(
            "const e = document.querySelector(arguments[0]); return e ? e.innerText : ''", selector))

    def wait(self, condition: Callable[[], object]) -> None:
        until(condition, lambda: f"not in time; the page shows {self.text('body')[:2000]!r}")

    def wait_text(self, text: str, selector: str = "#view") -> None:
        self.wait(lambda: text in self.text(selector))

    def click(self, selector: str, text: str = "") -> None:
        """Click the first such element with a text, once it is there."""
        script = ("const e = [...document.querySelectorAll(arguments[0])].find((each) => "
                  "each.textContent.includes(arguments[1])); if (e) e.click(); return Boolean(e)")
        self.wait(lambda: self.driver.execute_script(script, selector, text))

    def type(self, selector: str, text: str) -> None:
        """Type into a field, which a redrawn page may have replaced meanwhile."""
        self.driver.execute_script("document.querySelector(arguments[0]).focus()", selector)
        self.command("Input.insertText", text=text)

    def press(self, key: str, text: str = "") -> None:
        """Press a key, wherever the focus is."""
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, **({"text": text} if text else {}))

    def focus(self) -> str:
        """Id of the element that has the focus."""
        return str(self.driver.execute_script("return document.activeElement.id"))

    def problems(self) -> list[str]:
        """Errors of scripts, and what the content security policy refused, since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and entry["source"] != "network"]

    def picture(self, file: Path) -> None:
        self.driver.save_screenshot(str(file))


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium is missing: tests/system-packages"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--no-first-run", "--disable-extensions",
                     "--no-proxy-server", f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = _started(options, {"PATH": "/usr/bin:/bin", "HOME": str(folder)})
    try:
        driver.set_page_load_timeout(DEADLINE_S)
        driver.set_script_timeout(DEADLINE_S)
        yield Browser(driver)
    finally:
        driver.quit()


def _started(options: ChromeOptions, environment: dict[str, str]) -> Chrome:
    """Start a browser. A machine that is busy with something else may need another attempt or two."""
    for attempt in range(ATTEMPTS):
        try:
            return Chrome(options, Service(shutil.which("chromedriver"), env=environment))
        except WebDriverException:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")

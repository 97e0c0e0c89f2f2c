"""Takes the picture of the dashboard for docs/monitoring.md: python -m tests.feature.dashboard_picture.

A router works for a while between the fakes, with clients; the Prometheus of Debian reads its metrics, and
answers the expressions of the dashboard. Grafana is not in Debian, so the panels are drawn here, at their
places and with their titles.
"""

import html
import http.client
import json
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests
import yaml

from tests import manifests
from tests.feature.browser import chromium
from tests.feature.conftest import HTTP
from tests.feature.status_site import LOGIN, StatusSite
from tests.waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD, PICTURE = ROOT / "docs/deploy/monitoring/dashboard.json", ROOT / "docs/images/dashboard.png"
LASTS_S, STEP_S = 120.0, 2
VARIABLES = {"$namespace": "f5router", "$instance": ".*", "$__rate_interval": "10s", "[5m]": "[10s]",
             "[1h]": "[60s]"}
CELL_W, CELL_H = 66, 26
"""Pixels of a column and a row."""
COLOURS = ("#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#f2495c", "#b877d9", "#8ab8ff", "#fade2a", "#96d98d",
           "#ffa6b0")
STYLE = """body{background:#111217;color:#ccccdc;font:12px sans-serif;margin:6px;position:relative}
div{position:absolute;box-sizing:border-box;overflow:hidden}
.p{background:#181b1f;border:1px solid #2c3235;padding:6px}
h2{font-size:12px;margin:0 0 2px}
.r{font-weight:bold;font-size:14px;padding:4px}
.n{font-size:24px;text-align:center}
small{white-space:nowrap;margin-right:8px}"""

Series = list[tuple[str, list[tuple[float, float]]]]


def main() -> None:
    """Start everything, let it work, and write the picture."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = StatusSite(stack, folder, f5_resync_interval="20s", f5_statistics_interval="3s",
                          f5_statistics_members="50")
        site.lab.bigip.start_dataplane()
        for address in ("10.128.0.11", "10.128.0.12", "10.128.2.13", "10.128.0.31", "10.128.2.21"):
            site.lab.bigip.pods.start(address, 8080, address)
        url = stack.enter_context(prometheus(folder, site.server.where))
        stop = threading.Event()
        workers = [threading.Thread(target=work, args=(site, stop)) for work in (clients, clients, changes)]
        for worker in workers:
            worker.start()
        begin = time.time()
        time.sleep(LASTS_S)
        stop.set()
        for worker in workers:
            worker.join(DEADLINE_S)
        page = folder / "dashboard.html"
        page.write_text(drawn(url, begin, time.time()))
        browser = stack.enter_context(chromium(folder))
        browser.size(24 * CELL_W + 12, height() + 12)
        browser.open(page.as_uri())
        browser.picture(PICTURE)


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """Run Prometheus on loopback, and return its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    config = folder / "prometheus.yaml"
    config.write_text(yaml.safe_dump({"scrape_configs": [{
        "job_name": "f5router", "scrape_interval": "1s", "scrape_timeout": "1s",
        "basic_auth": {"username": LOGIN[0], "password": LOGIN[1]},
        "static_configs": [{"targets": [target],
                            "labels": {"namespace": "f5router", "pod": "f5router-1"}}]}]}))
    with subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                           f"--web.listen-address={where}", "--log.level=warn"]) as process:
        try:
            until(lambda: _answers(where))
            yield f"http://{where}/api/v1/query_range"
        finally:
            process.terminate()


def _answers(where: str) -> bool:
    try:
        return requests.get(f"http://{where}/-/ready", timeout=DEADLINE_S).ok
    except requests.ConnectionError:
        return False


def clients(site: StatusSite, stop: threading.Event) -> None:
    """Ask for pages of some Routes, a connection for a few of them."""
    number = 0
    while not stop.wait(0.02):
        number += 1
        where = site.lab.bigip.endpoint(f"/Common/{HTTP}")
        connection = http.client.HTTPConnection(*where, timeout=DEADLINE_S)
        try:
            for _ in range(4):
                connection.request("GET", "/", headers={"Host": f"team-{number % 60:03}.apps.example.com"})
                connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            pass  # a Route that goes
        finally:
            connection.close()


def changes(site: StatusSite, stop: threading.Event) -> None:
    """Routes and endpoints come and go, and somebody else changes a pool now and then."""
    number, lab = 0, site.lab
    while not stop.wait(0.4):
        number += 1
        name = f"shop-{number % 40}"
        if number % 3 == 0:
            pods = ("10.128.0.31", "10.128.2.21")[:1 + number % 2]
            lab.apply(*manifests.service("teams", "web", pods=pods))
        elif number % 7 == 0 and lab.kube.get("Route", "shop", name):
            lab.kube.delete("Route", "shop", name)
        else:
            lab.apply(manifests.route(name, host=f"{name}.example.com"))
        if number % 60 == 0:
            path = sorted(lab.pools())[0].replace("/", "~")
            lab.change("PATCH", f"ltm/pool/{path}", {"description": "changed by hand", "members": []})


def height() -> int:
    """Pixels of the dashboard."""
    return max((p["gridPos"]["y"] + p["gridPos"]["h"]) * CELL_H for p in panels())


def panels() -> list[dict]:
    return json.loads(DASHBOARD.read_text())["panels"]


def drawn(url: str, begin: float, end: float) -> str:
    """Return the page."""
    parts = []
    for panel in panels():
        at = panel["gridPos"]
        width, tall = at["w"] * CELL_W - 6, at["h"] * CELL_H - 6
        style = f"left:{at['x'] * CELL_W}px;top:{at['y'] * CELL_H}px;width:{width}px;height:{tall}px"
        title = html.escape(panel["title"])
        if panel["type"] == "row":
            parts.append(f'<div class=r style="{style}">{title}</div>')
            continue
        series = [line for target in panel["targets"] for line in answers(url, target, begin, end)]
        draw: Callable[..., str] = graph if panel["type"] == "timeseries" else number
        picture = draw(series, panel["fieldConfig"]["defaults"], width - 14, tall - 30)
        parts.append(f'<div class=p style="{style}"><h2>{title}</h2>{picture}</div>')
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><body>{''.join(parts)}"


def answers(url: str, target: dict, begin: float, end: float) -> Series:
    """Return the lines of an expression with their names."""
    text = target["expr"]
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    with requests.Session() as session:
        session.trust_env = False
        reply = session.get(url, params={"query": text, "start": begin, "end": end, "step": STEP_S},
                            timeout=DEADLINE_S).json()
    lines = []
    for result in reply["data"]["result"]:
        name = target["legendFormat"]
        for label, value in result["metric"].items():
            name = name.replace(f"{{{{{label}}}}}", value)
        lines.append((name, [(float(at), float(value)) for at, value in result["values"]]))
    return lines


def shown(value: float, unit: str) -> str:
    """Return a number with its unit."""
    if unit == "s":
        days = value / 86400
        return f"{days:,.0f} d" if days > 2 else f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"
    if unit == "percentunit":
        return f"{value:.0%}"
    if unit == "Bps":
        return f"{value / 1000:.0f} kB/s"
    rate = {"ops": "/s", "reqps": "/s", "cps": "/s"}.get(unit, "")
    return f"{value:,.3g}{rate}" if value < 1000 else f"{value:,.0f}{rate}"


def number(series: Series, defaults: dict, width: int, tall: int) -> str:
    """Draw the newest values, or their words; of a table the names."""
    words = {value: word["text"] for mapping in defaults.get("mappings", ()) if mapping["type"] == "value"
             for value, word in mapping["options"].items()}
    unit = defaults["unit"]
    texts = []
    for name, line in series:
        if unit == "string":
            texts.append(name)
        elif line:
            value = line[-1][1]
            word = words.get(f"{value:g}") or shown(value, unit)
            texts.append(f"{word} {name}" if len(series) > 1 else word)
    texts = texts or [defaults.get("noValue", "-")]
    return "".join(f"<p class=n>{html.escape(text)}</p>" for text in texts)


def graph(series: Series, defaults: dict, width: int, tall: int) -> str:
    """Draw lines over time, with the largest value and a legend."""
    unit = defaults["unit"]
    lines = [(name, [point for point in line if point[1] == point[1]]) for name, line in series]
    lines = sorted(((name, line) for name, line in lines if line), key=lambda each: -each[1][-1][1])[:10]
    most = max((value for _, line in lines for _, value in line), default=0.0) or 1.0
    times = [at for _, line in lines for at, _ in line] or [0.0]
    first, last, tall = min(times), max(times), tall - 28
    scale = width / ((last - first) or 1.0)
    body = "".join(
        f'<polyline fill=none stroke="{COLOURS[n % len(COLOURS)]}" stroke-width=1.5 points="'
        + " ".join(f"{(at - first) * scale:.0f},{tall - value / most * (tall - 14):.0f}"
                   for at, value in line)
        + '"/>' for n, (_, line) in enumerate(lines))
    legend = "".join(f'<small style="color:{COLOURS[n % len(COLOURS)]}">{html.escape(name)}</small>'
                     for n, (name, _) in enumerate(lines))
    scale_text = f"<text x=0 y=10 fill=#8e8e99 font-size=10>{shown(most, unit)}</text>"
    axis = f"<line x1=0 y1={tall} x2={width} y2={tall} stroke=#2c3235 />"
    return f"<svg width={width} height={tall}>{scale_text}{axis}{body}</svg><br>{legend}"


if __name__ == "__main__":
    main()

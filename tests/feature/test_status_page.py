"""The status page in a real browser, of a router that runs between the fakes."""

from contextlib import ExitStack

import pytest

from f5router.app.status_source import StatusSource
from f5router.config.parsers import Address
from f5router.monitoring.connections import Listeners
from f5router.monitoring.http_server import Pages, Server
from f5router.monitoring.status_api import StatusAPI
from f5router.views.route_view import Summaries
from tests import manifests
from tests.feature.browser import DESK, PHONE, chromium
from tests.feature.status_site import LOGIN, MANY, TROUBLE, StatusSite
from tests.hostile_certificates import certificate
from tests.rows import rows

EVIL = "<img src=x onerror=\"document.title='taken'\">"


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """The site, and a browser that has logged in."""
    folder = tmp_path_factory.mktemp("page")
    with ExitStack() as stack:
        site = StatusSite(stack, folder)
        browser = stack.enter_context(chromium(folder))
        browser.login(*LOGIN)
        browser.size(*DESK)
        yield site, browser


def go(opened, address: str):
    """Open a view in a page of its own; nothing of the one before is left."""
    site, browser = opened
    browser.open("about:blank")
    browser.open(f"{site.url}#/{address}")
    return browser


def test_the_list_its_filters_and_its_pages(opened):
    browser = go(opened, "routes")
    browser.wait_text("old.example.com")
    browser.wait_text("Live", "#live")
    browser.click(".chips button", "Rejected")
    browser.wait_text("1 Route, page 1 of 1")
    assert "HostAlreadyClaimed" in browser.text("tbody")
    browser.click(".chips button", "All")
    browser.wait_text("page 1 of 2")
    browser.click(".pager button", "Next")
    browser.wait_text("page 2 of 2")
    browser.type("#search", "team-042")
    browser.wait_text("1 Route, page 1 of 1")
    assert browser.focus() == "search"
    assert browser.problems() == []


def test_routes_with_warnings(opened):
    """Most of them are served, and not as their team thinks: the badge shows it in the other lists, too."""
    browser = go(opened, "routes")
    browser.click(".chips button", "With warnings")
    browser.wait_text("4 Routes, page 1 of 1")
    assert [badge.text for badge in browser.find("tbody .badge.bad")] == [
        "Served, but nothing answers", "Requests fail", "Requests fail", "Rejected"]
    browser.click(".chips button", "Served")
    browser.wait_text("page 1 of 2")
    assert browser.problems() == []


def test_trouble_first_and_another_order(opened):
    browser = go(opened, "routes")
    browser.wait_text("page 1 of 2")
    assert "empty.example.com" in browser.text("tbody tr")
    browser.click("th .sort", "Source object")
    browser.wait(lambda: "www.example.com" in browser.text("tbody tr") or "thief" in browser.text("tbody tr"))
    browser.click("th .sort", "Source object")
    browser.wait(lambda: "team-059" in browser.text("tbody tr"))
    browser.click(".chips button", "Requests fail")
    browser.wait_text("4 Routes, page 1 of 1")
    assert browser.text("h2").startswith("Requests fail for 4 of ")
    assert "other/thief" not in browser.text("#summary"), "it is rejected: its Service does not matter"
    assert browser.problems() == []


def test_a_screen_reader_hears_what_a_search_has_found(opened):
    browser = go(opened, "routes")
    browser.wait_text("old.example.com")
    browser.type("#search", "team-04")
    browser.wait_text("10 Routes, page 1 of 1", "#announce")
    depth = browser.driver.execute_script("return history.length")
    browser.type("#search", "2")
    browser.wait_text("1 Route, page 1 of 1", "#announce")
    assert browser.driver.execute_script("return history.length") == depth, "each letter is a step back"


def test_the_last_page_keeps_the_focus(opened):
    """Next is no button any more there; who uses a keyboard goes on from Previous."""
    browser = go(opened, "routes")
    browser.wait_text("page 1 of 2")
    browser.driver.execute_script("document.querySelector('.pager button:last-child').focus()")
    browser.press("Enter", "\r")
    browser.wait_text("page 2 of 2")
    assert browser.driver.execute_script("return document.activeElement.textContent") == "Previous"


def test_times_go_on_while_nothing_changes(opened):
    """A reader may leave the page open; the clock of the browser is set, not waited for."""
    browser = go(opened, "changes")
    browser.wait_text("ago")
    browser.driver.execute_script("const now = Date.now; Date.now = () => now() + 7200000")
    browser.wait_text("2 h ago")


def test_a_route_and_the_way_back(opened):
    browser = go(opened, "routes?search=empty")
    browser.click("tbody a", "empty.example.com")
    browser.wait(lambda: browser.driver.execute_script(
        "return [...document.querySelectorAll('svg g[transform]')].map((each) => "
        "[each.getAttribute('class'), each.querySelector('.kind').textContent])") == [
            ["good", "Client"], ["good", "Virtual server, port 80"], ["good", "Rule, insecure"],
            ["bad", "✕ Pool"]])
    browser.press("Escape")
    browser.wait_text("1 Route, page 1 of 1")
    assert "search=empty" in browser.driver.current_url
    browser.wait(lambda: browser.driver.execute_script("return document.activeElement.dataset.key")
                 == "shop/empty")
    assert browser.problems() == []


def test_changes_are_shown_while_the_page_is_open(opened):
    site, _ = opened
    browser = go(opened, "routes?search=born")
    browser.wait_text("No Route matches.")
    browser.wait_text("Live", "#live")
    site.lab.apply(manifests.route("born", namespace="teams", host="born.apps.example.com"))
    browser.wait_text("born.apps.example.com")
    browser.wait_text("Served", "tbody")


NOTHING = {"addresses": ["lb"], "unit": "lb", "tmos": "", "active": None, "sync": "", "has_group": None,
           "licence": None, "clock_ahead_s": None, "ltm": None, "role": None, "save": "", "last_save": "",
           "last_reading": "", "leader": None, "election": "", "router": "r", "version": "1", "queues": {},
           "requests": {}, "checks": []}
"""The device of a router that has just started."""


@rows(("known", "texts"), [
    ({}, ["not known yet"] * 9),
    ({"leader": False}, ["known to the leader"] * 9),
    ({"ltm": "none", "licence": {"exists": False, "ends": ""}, "clock_ahead_s": -3600.4},
     ["LTM not provisioned", "Licence none", "Clock 3,600 s behind the router's"]),
    ({"licence": {"exists": True, "ends": "2020-01-31"}, "clock_ahead_s": 0.4},
     ["Licence ended on 2020-01-31 expired", "Clock agrees with the router's"]),
    ({"licence": {"exists": True, "ends": ""}, "ltm": "", "role": "", "has_group": False},
     ["Licence without an end", "LTM cannot be read", "Router's user cannot be read",
      "Config sync no device group"]),
    ({"save": "failed: disk full", "last_save": "2020-01-31T00:00:00Z"},
     ["Configuration failed: disk full (last save "]),
])
def test_what_is_known_of_the_device(opened, known, texts):
    browser = go(opened, "routes")
    browser.wait_text("page 1 of 2")
    shown = " ".join(browser.driver.execute_script(
        "const made = document.createElement('div'); made.append(...showDevice(arguments[0]).flat(2));"
        "view.replaceChildren(made); return view.innerText", {**NOTHING, **known}).split())
    for text in texts:
        assert shown.count(text) >= texts.count(text), (text, shown)


def test_a_router_that_has_gone(opened):
    """The page is that of before; the header says so at once, and has the checks again when it is back."""
    browser = go(opened, "routes")
    browser.wait_text(TROUBLE, "#summary")
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.command("Network.emulateNetworkConditions", offline=True, **network)
    browser.wait_text("The router has not answered since", "#summary")
    assert TROUBLE not in browser.text("#summary")
    assert browser.find("#view.stale")
    browser.command("Network.emulateNetworkConditions", offline=False, **network)
    browser.wait_text(TROUBLE, "#summary")
    assert browser.find("#view.stale") == []


def test_the_order_on_a_phone(opened):
    """The titles of the columns are not there: a menu and a button are in their place."""
    browser = go(opened, "routes")
    browser.wait_text("page 1 of 2")
    assert not browser.find(".sorting")[0].is_displayed()
    browser.size(*PHONE)
    try:
        browser.wait(lambda: browser.find(".sorting")[0].is_displayed())
        browser.driver.execute_script(
            "const e = document.querySelector('.sorting select'); e.value = 'object';"
            "e.dispatchEvent(new Event('change'))")
        browser.wait(lambda: "thief" in browser.text("tbody tr"))
        browser.click(".sorting button")
        browser.wait(lambda: "team-059" in browser.text("tbody tr"))
        chosen = browser.driver.execute_script("return document.querySelector('.sorting select').value")
        assert chosen == "object"
        assert browser.problems() == []
    finally:
        browser.size(*DESK)


def test_a_host_is_not_broken_by_its_badge_on_a_phone(opened):
    """The longest state is below the host, which has the whole width."""
    browser = go(opened, "routes?state=unanswered")
    browser.size(*PHONE)
    try:
        browser.wait_text("empty.example.com")
        boxes = browser.driver.execute_script(
            "return ['tbody td.host', 'tbody .badge', 'tbody a'].map((each) => {"
            "const box = document.querySelector(each).getBoundingClientRect();"
            "return [box.top, box.bottom, box.width, box.height]})")
        host, badge, link = boxes
        assert badge[0] >= host[1]
        assert host[2] > 0.8 * PHONE[0]
        assert link[3] < 30, "more than one line"
    finally:
        browser.size(*DESK)


def test_times_in_texts_are_the_readers(opened):
    site, _ = opened
    text = site.json("routes/shop/old")["problems"][0]["text"]
    exact = text[text.index("20"):].split("Z")[0] + "Z"
    browser = go(opened, "routes/shop/old")
    browser.wait_text("it expired on")
    assert exact not in browser.text()
    titles = browser.driver.execute_script(
        "return [...document.querySelectorAll('.problems time')].map((each) => each.title)")
    assert exact in titles
    assert browser.text("#view").count("it expired on") == 3, "problem, certificate and Event, and no remark"
    assert "Days left\nexpired " in browser.text("#view")
    assert exact not in go(opened, "routes").text("#summary")


def test_without_scripts_there_is_the_list(opened):
    site, browser = opened
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open("about:blank")
        browser.open(site.url)
        browser.wait(lambda: browser.driver.current_url.endswith("/plain"))
        assert browser.find("h2")[0].text.startswith("Requests fail for ")
        assert "empty.example.com" in browser.find("tbody tr")[0].text
        assert browser.find("tbody time")[0].text.endswith(" UTC")
        (link,) = [each for each in browser.find(".pager a") if each.text == "Next"]
        link.click()
        browser.wait(lambda: "page 2 of 2" in browser.find("main")[0].text)
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)
        browser.open("about:blank")


@pytest.mark.parametrize(("address", "text"), [
    ("nodes", "0a:0a:0a:03:59:01"), ("changes", "first load"), ("device", "bigip-reached"),
    ("routes/shop/web", "openshift_shop_web"), ("routes/other/thief", "HostAlreadyClaimed"),
    ("routes/shop/none", "")])
def test_every_view_on_a_phone_and_in_the_dark(opened, address, text):
    browser = go(opened, address)
    browser.size(*PHONE)
    browser.scheme("dark")
    try:
        browser.wait_text(text or "there is no such object", "#view" if text else "#error")
        wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= PHONE[0], "the page is wider than a phone"
        roles = browser.driver.execute_script(
            "return [...document.querySelectorAll('#view table *')].map((each) => each.getAttribute('role'))")
        assert not roles or {"row", "columnheader", "cell"} < set(roles), "a table that is none for its style"
        colour = browser.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(17, 22, 29)"
        assert browser.problems() == []
    finally:
        browser.size(*DESK)
        browser.scheme("light")


def test_everything_can_be_reached_by_keyboard_and_has_a_name(opened):
    browser = go(opened, "routes")
    browser.wait_text("old.example.com")
    unnamed = browser.driver.execute_script("""
        const label = (each) => each.labels && each.labels[0] ? each.labels[0].textContent : "";
        return [...document.querySelectorAll('a, button, input, svg')].filter((each) => !(
            each.textContent.trim() || each.getAttribute('aria-label') || label(each).trim()))
            .map((each) => each.outerHTML)""")
    assert unnamed == []
    assert browser.driver.execute_script("return document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])"
                                         ":not([tabindex=\"-1\"])').length") == 0
    browser.press("/", "/")
    browser.wait(lambda: browser.focus() == "search")


def test_a_node_that_is_not_ready_any_more(opened):
    """Nothing is written because of it, so no event comes: the page looks again now and then."""
    site, _ = opened
    browser = go(opened, "nodes")
    browser.wait_text("0a:0a:0a:03:59:01")
    assert "Not ready" not in browser.text()
    site.lab.apply(manifests.node("n2", "10.3.89.2", ready=False))
    browser.wait_text("Not ready")
    site.lab.apply(manifests.node("n2", "10.3.89.2"))
    assert browser.problems() == []


class BusyList(StatusSource):
    """Its list leaves out all Routes at first, as one does that was made the moment before they came."""

    asked = 0

    def summaries(self):
        self.asked += 1
        return Summaries((), False) if self.asked <= 3 else super().summaries()


def test_a_list_that_was_made_a_moment_too_early(opened):
    """The event of the change has gone by: the page asks again by itself."""
    site, browser = opened
    source = BusyList(site.controller)
    pages = Pages(list, list, lambda accept: (b"", ""), None, StatusAPI(source, Listeners(int)), local=True)
    with Server(Address("127.0.0.1", 0), pages) as server:
        browser.open(f"http://{server.where}/#/routes?search=empty")
        browser.wait_text("empty.example.com")
    assert source.asked > 3
    assert browser.problems() == []


def test_text_of_the_cluster_stays_text(opened):
    """Hosts that are no names, annotations and paths with markup: the page shows them, and runs nothing."""
    site, _ = opened
    evil = manifests.route("evil", namespace="hostile", host=EVIL, path=f"/{EVIL}")
    evil["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": EVIL}
    pair = certificate(EVIL.encode(), names=(EVIL.encode(),))
    forged = manifests.route("forged", namespace="hostile", host="forged.com", kind="edge", **pair.tls)
    site.lab.apply(evil, forged)
    for address in ("routes?search=hostile", "routes/hostile/evil", "routes/hostile/forged"):
        browser = go(opened, address)
        browser.wait_text("<img src=x")
        assert browser.find("#view img") == []
        assert "taken" not in browser.driver.title
        assert browser.problems() == []
    assert site.json("routes", search="hostile")["total"] == 2
    assert site.json("routes")["total"] >= MANY

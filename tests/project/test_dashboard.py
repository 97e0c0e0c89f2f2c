"""The dashboard of docs/deploy/monitoring: Grafana's form, and expressions that Prometheus reads."""

import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.alerts import promtool
from tests.project.scraped import page

FOLDER = Path(__file__).resolve().parents[2] / "docs/deploy/monitoring"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {"$namespace": "f5router", "$instance": "10.1.2.3:1936", "$__rate_interval": "5m"}
RUNBOOKS = "docs/alerts.md"
UNITS = {"none", "short", "s", "percentunit", "ops", "reqps", "cps", "Bps", "string"}
"""Of Grafana that the panels use: "none" is for states, which have mappings."""
ROWS = ["Health", "Changes", "REST and the Kubernetes API", "Traffic, by the statistics of the BIG-IP",
        "Certificates"]
COLUMNS = 24
"""Width of a dashboard."""


def expressions() -> list[str]:
    """The expressions of all panels, with values for Grafana's variables."""
    texts = [target["expr"] for panel in PANELS for target in panel["targets"]]
    for name, value in VARIABLES.items():
        texts = [text.replace(name, value) for text in texts]
    return texts


def test_prometheus_reads_the_expressions(tmp_path):
    """As rules that record them."""
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions())]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", str(path))
    assert not any("$" in text for text in expressions())


def test_metrics_are_served():
    served = set(re.findall(r"^(\w+)", page().decode(), re.MULTILINE))
    named = {name for text in expressions() for name in re.findall(r"\b(?:f5router|process)_\w+", text)}
    assert named - served == set()
    assert len(named) > 30


def test_labels_of_the_router_are_asked_for():
    """Each selector has namespace and instance of the router: a cluster may have several."""
    chosen = 'namespace=~"f5router",instance=~"10.1.2.3:1936"'
    for text in expressions():
        for name, selector in re.findall(r"\b(f5router_\w+|process_\w+)(\{[^}]*\})?", text):
            assert chosen in selector or name == "f5router_build_info", text


def test_rows():
    assert [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"] == ROWS


def test_panels_have_their_place():
    """No two overlap, each is inside, has an identity of its own, and a text for those who read it."""
    assert max(Counter(panel["id"] for panel in DASHBOARD["panels"]).values()) == 1
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    for place, other in itertools.combinations(places, 2):
        assert (place["x"] + place["w"] <= other["x"] or other["x"] + other["w"] <= place["x"]
                or place["y"] + place["h"] <= other["y"] or other["y"] + other["h"] <= place["y"])
    assert all(place["x"] + place["w"] <= COLUMNS for place in places)
    assert all(panel["title"] and panel["description"] for panel in PANELS)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_each_panel_asks_the_chosen_source(panel):
    """The data source is a variable: the one of the cluster has a name of its own."""
    assert {source["uid"] for source in (panel["datasource"], *(
        target["datasource"] for target in panel["targets"]))} == {"${datasource}"}
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_variables():
    variables = {each["name"]: each["type"] for each in DASHBOARD["templating"]["list"]}
    assert variables == {"datasource": "datasource", "namespace": "query", "instance": "query",
                         "runbooks": "textbox"}
    assert DASHBOARD["templating"]["list"][-1]["query"] == RUNBOOKS


def test_units_and_states():
    """Each panel has a unit; a state has a word and a colour for each value, and a word for none."""
    for panel in PANELS:
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"] in UNITS, panel["title"]
        if panel["type"] == "stat":
            assert defaults["noValue"], panel["title"]
        if defaults["unit"] == "none":
            words = {value: (word["text"], word["color"]) for mapping in defaults["mappings"]
                     if mapping["type"] == "value" for value, word in mapping["options"].items()}
            assert words.keys() == {"0", "1"}
            assert all(map(all, words.values()))


def test_states_are_those_of_now():
    """A router that has gone has no last word."""
    assert all(target["instant"] and not target["range"] for panel in PANELS if panel["type"] != "timeseries"
               for target in panel["targets"])


def test_links_lead_to_runbooks():
    """Each to the page of the variable, with the heading of an alert that there is."""
    links = [link["url"] for owner in (DASHBOARD, *PANELS) for link in (
        *owner.get("links", ()), *owner.get("fieldConfig", {}).get("defaults", {}).get("links", ()))]
    headings = {name.lower() for name in re.findall(
        r"^## (\w+)$", (FOLDER.parents[1] / "alerts.md").read_text(), re.MULTILINE)}
    pages, anchors = zip(*(url.partition("#")[::2] for url in links), strict=True)
    assert set(pages) == {"${runbooks}"}
    assert set(anchors) - {""} <= headings
    assert len(set(anchors)) > 12

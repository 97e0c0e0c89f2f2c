"""The alerts of docs/deploy/monitoring, and which of them fire: promtool of Debian's package `prometheus`."""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

ALERTS = Path(__file__).resolve().parents[1] / "docs/deploy/monitoring/10-alerts.yaml"
GROUPS = yaml.safe_load(ALERTS.read_text())["spec"]
RULES = {rule["alert"]: rule for group in GROUPS["groups"] for rule in group["rules"]}
MINUTES = 60


def promtool(*arguments: str, stdin: bytes | None = None) -> str:
    """The output of promtool, which must succeed."""
    done = subprocess.run(["promtool", *arguments], input=stdin, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, output
    return output


def labelled(name: str) -> str:
    """A series of the pod. Args: name: with labels, if it has any."""
    metric, _, labels = name.partition("{")
    own = 'namespace="f5router"' + ("" if "pod=" in labels else ',pod="f5router-1"')
    return f"{metric}{{{','.join(filter(None, (labels.removesuffix('}'), own)))}}}"


def assert_fire(folder: Path, series: Mapping[str, str], fires: Iterable[str],
                silent: Iterable[str] = ()) -> None:
    """Check which alerts fire at the end of an hour. Args: series: values, one a minute, by name."""
    rules, test = folder / "rules.yaml", folder / "test.yaml"
    rules.write_text(yaml.safe_dump(GROUPS))
    at = f"{MINUTES - 1}m"
    test.write_text(yaml.safe_dump({"rule_files": [str(rules)], "tests": [{
        "interval": "1m",
        "input_series": [{"series": labelled(name), "values": values} for name, values in series.items()],
        "alert_rule_test": [{"alertname": name, "eval_time": at, "exp_alerts": []} for name in silent],
        "promql_expr_test": [
            {"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})', "eval_time": at,
             "exp_samples": [{"labels": "{}", "value": 1}]} for name in sorted(fires)]}]}))
    promtool("test", "rules", str(test))

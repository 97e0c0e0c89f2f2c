"""The Helm chart: its schema has every setting of the router, its page every value, and no others."""

import configparser
import inspect
import json
import re
from pathlib import Path

import yaml

from f5router.config.option import Option
from f5router.config.options import OPTIONS
from f5router.model import client_tls

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docs" / "helm" / "f5router"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
ELSEWHERE = {
    "f5-username", "f5-password", "f5-username-file", "f5-password-file", "f5-credentials-dir",
    "default-certificate", "stats-password", "listen-addr", "stats-port", "leader-elect",
    "leader-elect-resource-name", "leader-elect-resource-namespace", "metrics-tls-cert-file",
    "metrics-tls-key-file", "config", "context", "master"}
"""Settings that other values make, or that a Secret must hold."""
SECRET_VARIABLES = {"STATS_USERNAME", "STATS_PASSWORD", "DEFAULT_CERTIFICATE"}


DEFINITIONS = {
    "duration.<locals>.parse": "duration", "parse_milliseconds": "time", "seconds": "time",
    "connect_time": "time", "partition_path": "folder",
    "partition": "folder", "virtual_server": "object", "namespace": "namespace",
    "canonical_hostname": "hostname", "internal_addresses": "address", "gateways": "gateway",
    "client_tls_version": "clientTLSVersion", "tls_version": "tlsVersion", "log_level": "logLevel"}
"""Form of a text in the schema, by the parser of the router."""


def schema_of(option: Option) -> dict:
    """Return what the schema has for a setting."""
    parse = option.parse.__qualname__
    if parse == "several.<locals>.parse":
        return SCHEMA["properties"]["args"]["properties"][option.name.replace("-", "_")]
    if parse in DEFINITIONS:
        return {"$ref": f"#/definitions/{DEFINITIONS[parse]}"}
    if option.boolean:
        return {"type": "boolean"}
    if "|" in option.metavar:
        return {"enum": option.metavar.split("|")}
    if parse.startswith(("integer.", "number.")):
        limits = inspect.getclosurevars(option.parse).nonlocals
        bounds = {"minimum": limits["low"], "maximum": limits["high"]}
        if parse.startswith("integer."):
            return {"type": "integer", **bounds}
        return {"type": ["number", "string"], "pattern": "^[0-9]+([.][0-9]+)?$", **bounds}
    return {"type": "string"}


def test_the_schema_has_every_setting():
    """By the router's own table, for a new setting too; settings are refused as further variables."""
    assert SCHEMA["properties"]["args"]["properties"] == {
        option.name.replace("-", "_"): schema_of(option) for option in OPTIONS.values()
        if option.name not in ELSEWHERE}
    refused = SCHEMA["properties"]["extraEnv"]["items"]["properties"]["name"]["not"]["enum"]
    assert refused == sorted({option.env for option in OPTIONS.values() if option.env} - SECRET_VARIABLES)


def test_the_versions_of_tls():
    assert SCHEMA["definitions"]["clientTLSVersion"]["enum"] == ["", *client_tls.VERSIONS.values()]


def test_settings_become_their_variables():
    """A command in the pod has the settings of the router, as far as a flag has a variable."""
    names = SCHEMA["properties"]["args"]["properties"]
    assert json.loads((CHART / "files" / "variables.json").read_text()) == {
        name: option.env for option in OPTIONS.values()
        if (name := option.name.replace("-", "_")) in names and option.env}


def leaves(values: dict, before: str = "") -> dict[str, object]:
    """Values by path; args are one value, like objects that go to Kubernetes as they are."""
    paths = {}
    for name, value in values.items():
        ours = SCHEMA["properties"][before.partition(".")[0] or name].get("additionalProperties") is False
        if isinstance(value, dict) and value and ours and name not in ("args", "resources", "labels"):
            paths |= leaves(value, f"{before}{name}.")
        else:
            paths[before + name] = value
    return paths


def test_every_value_is_documented():
    """README.md beside the chart has a row for each, with its default, in the order of values.yaml."""
    rows = re.findall(r"^\| `([\w.]+)` \|(.*?) \| (.+) \|$", (CHART / "README.md").read_text(), re.MULTILINE)
    assert [name for name, _, _ in rows] == list(leaves(VALUES))
    for name, default, _ in rows:
        assert yaml.safe_load(default.strip(" `") or '""') == leaves(VALUES)[name], name


def test_versions_are_those_of_the_router():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == config["metadata"]["version"]

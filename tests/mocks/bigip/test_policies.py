"""Policies: drafts, legacy and plain ones, conditions and actions (bigip-behaviour.md B4)."""

from __future__ import annotations

import pytest

HOST = {"name": "0", "httpHost": True, "host": True, "equals": True, "values": ["a"]}
FORWARD = {"name": "0", "forward": True, "select": True, "pool": "/P/p"}
REDIRECT = {"name": "0", "httpReply": True, "redirect": True, "location": "https://a/"}
POLICY = {"name": "pol", "partition": "P", "strategy": "/Common/first-match"}


def rule(*conditions, actions=(FORWARD,), **more):
    return {"name": "r", "conditions": list(conditions), "actions": list(actions), **more}


@pytest.fixture
def client(device):
    big, client = device()
    big.put_object("ltm/pool", {"name": "p", "partition": "P"})
    return client


def test_draft_publish_and_change(client):
    """A draft is published, copied to a draft again, changed and swapped in."""
    client.ok("POST", "ltm/policy", {**POLICY, "subPath": "Drafts", "rules": [rule(HOST)]})
    assert client.big.get("ltm/policy/~P~Drafts~pol")["status"] == "draft"
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    assert client.big.get("ltm/policy/~P~Drafts~pol") is None
    assert client.big.get("ltm/policy/~P~pol")["status"] == "published"
    client.ok("PATCH", "ltm/policy/~P~pol", {"createDraft": True})
    client.ok("POST", "ltm/policy/~P~Drafts~pol/rules", {"name": "second"})
    rules = client.big.get("ltm/policy/~P~pol")["rulesReference"]["items"]
    assert [rule["name"] for rule in rules] == ["r"]
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    rules = client.big.get("ltm/policy/~P~pol")["rulesReference"]["items"]
    assert [rule["name"] for rule in rules] == ["r", "second"]
    assert rules[0]["conditionsReference"]["items"][0]["values"] == ["a"]


@pytest.mark.parametrize(("quirk", "left"), [("", ["second"]), ("rules-merged", ["r", "second"])])
def test_a_list_of_rules(device, quirk, left):
    """It takes the place of all rules; no source describes PATCH, so the fake can merge it, too."""
    big, client = device(quirks={quirk} - {""})
    big.put_object("ltm/pool", {"name": "p", "partition": "P"})
    client.ok("POST", "ltm/policy", {**POLICY, "subPath": "Drafts", "rules": [rule(HOST)]})
    second = {**rule(HOST), "name": "second", "ordinal": 1}
    client.ok("PATCH", "ltm/policy/~P~Drafts~pol", {"rules": [second]})
    rules = big.get("ltm/policy/~P~Drafts~pol")["rulesReference"]["items"]
    assert [rule["name"] for rule in rules] == left


CHANGES = {
    "nothing": None,
    "a rule": ("PATCH", "", {"ordinal": 7}),
    "a condition": ("PATCH", "/conditions/0", {"values": ["b"]}),
    "no condition": ("DELETE", "/conditions/0", None),
    "another condition": ("POST", "/conditions", {**HOST, "name": "1"}),
    "an action": ("PATCH", "/actions/0", {"pool": "/P/other"}),
    "no rule": ("DELETE", "", None),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_same_list_again(client, change):
    """Whatever has changed since, in this draft or in one before, the rules are those of the list."""
    client.big.put_object("ltm/pool", {"name": "other", "partition": "P"})
    listed = {"rules": [rule(HOST), {**rule(HOST), "name": "second", "ordinal": 1}]}
    client.ok("POST", "ltm/policy", {**POLICY, "subPath": "Drafts", **listed})
    wanted = client.big.get("ltm/policy/~P~Drafts~pol")["rulesReference"]["items"]
    for publishes in (False, True, True):
        if change:
            method, below, body = change
            client.ok(method, f"ltm/policy/~P~Drafts~pol/rules/r{below}", body)
        if publishes:
            client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
            client.ok("PATCH", "ltm/policy/~P~pol", {"createDraft": True})
        client.ok("PATCH", "ltm/policy/~P~Drafts~pol", listed)
        rules = client.big.get("ltm/policy/~P~Drafts~pol")["rulesReference"]["items"]
        assert [_without_generations(rule) for rule in rules] == [
            _without_generations(rule) for rule in wanted]


def _without_generations(value):
    if isinstance(value, dict):
        return {key: _without_generations(each) for key, each in value.items() if key != "generation"}
    return [_without_generations(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "ltm/policy/~P~pol", {"description": "x"}),
        ("PUT", "ltm/policy/~P~pol", {"strategy": "first-match"}),
        ("POST", "ltm/policy/~P~pol/rules", {"name": "x"}),
        ("PATCH", "ltm/policy/~P~pol/rules/r", {"ordinal": 3}),
        ("DELETE", "ltm/policy/~P~pol/rules/r", None),
        ("POST", "ltm/policy/~P~pol/rules/r/conditions", {**HOST, "name": "1"}),
        ("PATCH", "ltm/policy/~P~pol/rules/r/actions/0", {"pool": "/P/p"}),
        ("DELETE", "ltm/policy/~P~pol/rules/r/actions/0", None),
    ],
)
def test_published_policies_refuse_edits(client, method, path, body):
    client.ok("POST", "ltm/policy", {**POLICY, "subPath": "Drafts", "rules": [rule(HOST)]})
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    status, message = client.refused(method, path, body)
    assert (status, message[:10]) == (400, "01071abb:3")
    assert "/P/Drafts/pol" in message


def test_a_published_policy_stays_attached(client):
    client.ok("POST", "ltm/policy", {**POLICY, "subPath": "Drafts", "rules": [rule(HOST)]})
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    client.big.add_virtual("/P/vs", "10.0.0.1:80", policies=["/P/pol"])
    client.ok("PATCH", "ltm/policy/~P~pol", {"createDraft": True})
    client.ok("DELETE", "ltm/policy/~P~Drafts~pol/rules/r")
    status, _ = client.refused("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    assert status == 400
    assert client.big.get("ltm/policy/~P~Drafts~pol") is not None
    client.ok("POST", "ltm/policy/~P~Drafts~pol/rules", {"name": "other"})
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    attached = client.big.get("ltm/virtual/~P~vs")["policiesReference"]["items"]
    assert [item["fullPath"] for item in attached] == ["/P/pol"]


def test_one_draft_of_a_policy(client):
    client.ok("POST", "ltm/policy", {**POLICY, "subPath": "Drafts", "rules": [rule(HOST)]})
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    client.ok("PATCH", "ltm/policy/~P~pol", {"createDraft": True})
    assert client.refused("PATCH", "ltm/policy/~P~pol", {"createDraft": True})[0] == 409


@pytest.mark.parametrize("version", ["11.5.3", "11.6.0", "12.0.0"])
def test_plain_policies_below_12_1(device, version):
    client = device(version)[1]
    client.ok("POST", "ltm/policy", POLICY)
    shown = client.ok("GET", "ltm/policy/~P~pol")
    assert not shown.keys() & {"status", "lastModified", "legacy"}
    client.ok("POST", "ltm/policy/~P~pol/rules", {"name": "r"})
    for body in ({**POLICY, "name": "x", "legacy": True}, {**POLICY, "createDraft": True}):
        method, path = ("POST", "ltm/policy") if "legacy" in body else ("PATCH", "ltm/policy/~P~pol")
        assert "unknown property" in client.refused(method, path, body)[1]
    status, message = client.refused("POST", "ltm/policy/~P~pol/rules", {"name": "d", "description": "x"})
    assert (status, message) == (400, '"description" unknown property')


def test_legacy_policies_are_edited_in_place(client):
    shown = client.ok("POST", "ltm/policy", {**POLICY, "legacy": True})
    assert shown["status"] == "legacy"
    assert "legacy" not in shown
    client.ok("POST", "ltm/policy/~P~pol/rules", rule(HOST))
    client.ok("POST", "ltm/policy/~P~pol/rules/r/conditions", {**HOST, "name": "1"})
    assert client.refused("POST", "ltm/policy/~P~pol/rules", {"name": "r"})[0] == 409


@pytest.mark.parametrize(
    ("rule", "status", "message"),
    [
        pytest.param(rule({"name": "0", "values": ["x"]}), 400, "01071706:3", id="no operand"),
        pytest.param(rule({**HOST, "httpUri": True}), 400, '"http-host" may not be', id="two operands"),
        pytest.param(
            rule({**HOST, "all": True}), 400, '"all" may not be specified with "host"', id="two parts"
        ),
        pytest.param(rule({**HOST, "contains": True}), 400, '"contains" may not be', id="two operators"),
        pytest.param(rule({**HOST, "httpGuess": True}), 400, '"httpGuess" unknown', id="unknown operand"),
        pytest.param(rule({**HOST, "path": True}), 400, '"host" may not be', id="part of another operand"),
        pytest.param(
            rule({"name": "0", "httpMethod": True, "path": True}), 400, '"path" unknown', id="foreign part"
        ),
        pytest.param(
            rule({**HOST, "sslClientHello": True}), 400, "010716ff:3", id="event of another operand"
        ),
        pytest.param(
            rule({"name": "0", "httpUri": True, "pathSegment": True, "values": ["a"]}),
            400,
            'invalid property value "index"',
            id="segment 0",
        ),
        pytest.param(
            rule({**HOST, "datagroup": "/P/none", "values": None}), 400, "01070712:3", id="no data-group"
        ),
        pytest.param(
            rule(actions=[{"name": "0", "select": True, "pool": "/P/p"}]), 400, "0107186c:3", id="no target"
        ),
        pytest.param(rule(actions=[{"name": "0", "forward": True}]), 400, "0107186c:3", id="no verb"),
        pytest.param(
            rule(actions=[{"name": "0", "forward": True, "select": True}]), 400, "0107186c:3", id="no pool"
        ),
        pytest.param(rule(actions=[{**FORWARD, "pool": "/P/none"}]), 400, "01070712:3", id="absent pool"),
        pytest.param(rule(actions=[{**FORWARD, "redirect": True}]), 400, '"select" may not', id="two verbs"),
        pytest.param(rule(actions=[{**REDIRECT, "location": None}]), 400, "0107186c:3", id="no location"),
        pytest.param(rule(actions=[{**REDIRECT, "code": 200}]), 400, "invalid property value", id="code"),
        pytest.param(rule(actions=[{**FORWARD, "guess": 1}]), 400, '"guess" unknown', id="unknown parameter"),
        pytest.param(rule(actions=[{"name": "0", "httpReplies": True}]), 400, "unknown", id="unknown target"),
        pytest.param(rule(HOST, HOST), 409, "01020066:3", id="condition twice"),
        pytest.param(rule(ordinal="x"), 400, "invalid property value", id="ordinal"),
    ],
)
def test_refused_rules(client, rule, status, message):
    """A refused rule leaves nothing behind."""
    client.ok("POST", "ltm/policy", {**POLICY, "legacy": True})
    refusal = client.refused("POST", "ltm/policy/~P~pol/rules", rule)
    assert refusal[0] == status
    assert message in refusal[1]
    assert "items" not in client.big.get("ltm/policy/~P~pol")["rulesReference"]


def test_code_of_a_redirect_by_version(device):
    for version, code in (("13.1.1", 0), ("14.0.0", 302)):
        client = device(version)[1]
        body = {**POLICY, "legacy": True, "rules": [rule(actions=[{**REDIRECT, "code": 302}])]}
        client.ok("POST", "ltm/policy", body)
        assert client.ok("GET", "ltm/policy/~P~pol/rules/r/actions/0")["code"] == code


def test_in_use(client):
    client.ok("POST", "ltm/policy", {**POLICY, "legacy": True, "rules": [rule(HOST)]})
    client.big.add_virtual("/P/vs", "10.0.0.1:80", policies=["/P/pol"])
    assert client.refused("DELETE", "ltm/pool/~P~p")[1].startswith("01070265:3")
    assert client.refused("DELETE", "ltm/policy/~P~pol")[1].startswith("01070635:3")
    assert client.refused("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/pol"})[0] == 409
    client.ok("DELETE", "ltm/virtual/~P~vs/policies/~P~pol")
    client.ok("DELETE", "ltm/policy/~P~pol")
    client.ok("DELETE", "ltm/pool/~P~p")


def test_attaching(client):
    """A policy needs rules, the profiles of its rules, and no other policy with its controls."""
    client.ok("POST", "ltm/policy", {**POLICY, "legacy": True})
    client.big.add_virtual("/P/vs", "10.0.0.1:80", profiles=["/Common/tcp"])
    assert client.refused("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/pol"})[0] == 400
    client.ok("POST", "ltm/policy/~P~pol/rules", rule(HOST))
    status, message = client.refused("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/pol"})
    assert message.startswith(
        "010716d9:3: Virtual server /P/vs requires a profile of type http or http-connect"
    )
    client.ok("POST", "ltm/virtual/~P~vs/profiles", {"name": "/Common/http"})
    client.ok("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/pol"})
    assert client.refused("DELETE", "ltm/virtual/~P~vs/profiles/~Common~http")[1].startswith("010716d9:3")
    assert client.refused("DELETE", "ltm/policy/~P~pol/rules/r")[0] == 400
    status, message = client.refused("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/none"})
    assert (status, "The requested profile (/P/none) was not found" in message) == (404, True)


def test_conflicting_controls(client):
    for name in ("a", "b"):
        client.ok(
            "POST",
            "ltm/policy",
            {**POLICY, "name": name, "legacy": True, "controls": ["forwarding"], "rules": [{"name": "r"}]},
        )
    client.big.add_virtual("/P/vs", "10.0.0.1:80", policies=["/P/a"])
    assert "conflicting controls" in client.refused("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/b"})[1]


def test_patch_of_a_condition_keeps_the_rest(client):
    client.ok("POST", "ltm/policy", {**POLICY, "legacy": True, "rules": [rule(HOST)]})
    client.ok("PATCH", "ltm/policy/~P~pol/rules/r/conditions/0", {"values": ["b"], "startsWith": True})
    shown = client.ok("GET", "ltm/policy/~P~pol/rules/r/conditions/0")
    assert shown["values"] == ["b"]
    assert shown["startsWith"]
    assert shown["host"]
    assert "equals" not in shown


def test_calls_of_the_original_router(device):
    """Rule, then its conditions and actions one by one, bare names, `tmPartition`."""
    client = device("12.1.2")[1]
    client.ok(
        "POST",
        "ltm/pool",
        {
            "name": "p",
            "partition": "/P",
            "monitor": "min 1 of /Common/http /Common/https",
            "loadBalancingMode": "round-robin",
        },
    )
    client.ok(
        "POST",
        "ltm/policy",
        {
            "name": "/P/pol",
            "tmPartition": "/P",
            "controls": ["forwarding"],
            "requires": ["http"],
            "strategy": "best-match",
            "legacy": True,
        },
    )
    client.ok("POST", "ltm/policy/~P~pol/rules", {"name": "default_noop"})
    client.ok("POST", "ltm/policy/~P~pol/rules", {"name": "openshift_route_a_b"})
    at = "ltm/policy/~P~pol/rules/openshift_route_a_b"
    client.ok(
        "POST",
        f"{at}/conditions",
        {
            "name": "0",
            "caseInsensitive": True,
            "httpHost": True,
            "host": True,
            "index": 0,
            "equals": True,
            "request": True,
            "values": ["a"],
        },
    )
    client.ok(
        "POST",
        f"{at}/actions",
        {"name": "0", "forward": True, "pool": "/P/p", "request": True, "select": True, "vlanId": 0},
    )
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    client.ok("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/pol", "partition": "/P", "fullPath": ""})
    client.ok("POST", "ltm/data-group/internal", {"name": "bare", "type": "string", "records": None})
    assert client.ok("GET", "ltm/data-group/internal/bare")["fullPath"] == "bare"
    assert client.big.get("ltm/data-group/internal/~Common~bare") is not None

"""A Route whose Host another one holds: the administrator learns which one, the tenant does not."""

import json

from tests import manifests


def test_the_holder_is_in_the_log_only(lab, caplog):
    lab.apply(
        manifests.route("holder-of-it", namespace="secret-team"),
        *manifests.service("secret-team", "web", pods=("10.1.1.7",)),
        manifests.route("thief", namespace="other", created="2026-02-01T00:00:00Z"),
        *manifests.service("other", "web", pods=("10.1.1.8",)),
    )
    assert lab.converge() == []
    (line,) = [record for record in caplog.records if record.message == "host already claimed"]
    assert (line.host, line.route) == ("www.example.com", "other/thief")
    assert line.holder == "secret-team/holder-of-it"
    condition = lab.admitted("other", "thief")
    assert (condition["status"], condition["reason"]) == ("False", "HostAlreadyClaimed")
    told = json.dumps([lab.kube.get("Route", "other", "thief"), lab.kube.list("Event")])
    assert "holder-of-it" not in told
    assert "secret-team" not in told

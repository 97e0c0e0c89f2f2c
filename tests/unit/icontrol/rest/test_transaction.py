"""f5router.icontrol.rest.transaction: a reply of another form is an error of the BIG-IP."""

import pytest

from f5router.icontrol.rest.transaction import patch_together
from f5router.model.errors import NotReady
from tests.rows import rows
from tests.unit.icontrol.scripted import Answer, connected


@rows("reply", [{}, {"transId": None}, {"transId": "x"}, {"transId": [1]}, {"code": 200}])
def test_a_reply_without_a_number(reply):
    with connected() as (device, client, _):
        device.add(Answer(body=reply), method="POST", path="transaction")
        with pytest.raises(NotReady, match="no number of a transaction") as caught:
            patch_together(client, {"ltm/virtual/~Common~a": {"disabled": True}})
        assert not caught.value.may_have_applied
        assert [(each.method, each.path) for each in device.requests[1:]] == [
            ("POST", "/mgmt/tm/transaction")]


def test_a_number_that_comes_as_text():
    with connected() as (device, client, _):
        device.add(Answer(body={"transId": "17"}), method="POST", path="transaction")
        patch_together(client, {"ltm/virtual/~Common~a": {"disabled": True}})
        assert [each.path for each in device.requests[2:]] == [
            "/mgmt/tm/ltm/virtual/~Common~a", "/mgmt/tm/transaction/17"]

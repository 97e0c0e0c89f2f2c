"""f5router.icontrol.write_log: a line per write."""

import logging

from f5router.icontrol.write_log import WriteLog
from f5router.model.errors import Refused
from f5router.model.ltm import Attachment, DataGroup, IRule, Pool
from f5router.plan.change import CREATE, Change

POOL = Change(CREATE, None, Pool("/Common/openshift_shop_web"))
OTHER = Change(CREATE, None, DataGroup("/Common/x"))
NO, NEVER = Refused(text="no", status=400), Refused(text="never", status=400)


def test_fields(caplog):
    caplog.set_level(logging.INFO)
    WriteLog().done(POOL, 0.01234)
    WriteLog().refused(OTHER, NO, 1.0)
    names = ("message", "levelname", "object", "action", "cause", "seconds", "error")
    done, refused = ({name: vars(record).get(name) for name in names} for record in caplog.records)
    assert done == {"message": "changed", "levelname": "INFO", "action": "create",
                    "cause": "Service shop/web", "object": "ltm/pool /Common/openshift_shop_web",
                    "seconds": 0.012, "error": None}
    assert refused["levelname"] == "WARNING"
    assert (refused["cause"], refused["error"]) == ("shared", str(NO))


def test_one_request_for_many_objects_is_one_message(caplog):
    """The attachments of a virtual server that is missing; those of another one and pools stand alone."""
    caplog.set_level(logging.WARNING)
    attached = [Change(CREATE, None, Attachment(virtual, "rules", f"/Common/{name}", IRule.KIND))
                for virtual in ("/Common/v", "/Common/w") for name in ("a", "b")]
    pools = [Change(CREATE, None, Pool(f"/Common/{name}")) for name in ("a", "b")]
    written = WriteLog()
    for change in (*attached, *pools):
        written.refused(change, NO, 0.1)
    assert [record.object for record in caplog.records] == [
        str(change.ref) for change in (attached[0], attached[2], *pools)]
    written.done(attached[1], 0.1)
    written.refused(attached[1], NO, 0.1)
    assert caplog.records[-1].object == str(attached[1].ref)


def test_the_same_refusal_is_news_once(caplog):
    """Other words are news, and so are the same ones after a success; what is remembered has a bound."""
    caplog.set_level(logging.WARNING)
    written = WriteLog(most=1)

    def is_news(change: Change, error: Refused) -> bool:
        caplog.clear()
        written.refused(change, error, 0.1)
        return bool(caplog.records)

    assert [is_news(POOL, error) for error in (NO, NO, NEVER, NEVER)] == [True, False, True, False]
    written.done(POOL, 0.1)
    assert is_news(POOL, NEVER)
    assert is_news(OTHER, NO)
    assert is_news(POOL, NEVER)

"""Answers of the BIG-IP in the place of pods: what a record says is read back."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.model import http_edge
from f5router.model.http_edge import DeviceAnswer
from f5router.model.route_options import RouteOptions
from tests.rows import rows


@rows(("data", "reply"), [
    (http_edge.encode_answer(404), DeviceAnswer(404, 1.0)),
    (http_edge.encode_answer(500, 0.25), DeviceAnswer(500, 0.25)),
    (http_edge.encode_redirect(301, "https", "a.com", 0), DeviceAnswer(301, 1.0, "https://a.com")),
    (http_edge.encode_redirect(302, "http", "a.com", 81), DeviceAnswer(302, 1.0, "http://a.com:81")),
    (http_edge.encode_redirect(302, "http", "", 81),
     DeviceAnswer(302, 1.0, "http on the same host, port 81")),
    ("", None), ("hsts.6d", None)])
def test_replies(data, reply):
    assert http_edge.reply_of(data) == reply


@given(status=st.integers(300, 599), share=st.floats(0.001, 1))
def test_a_reply_among_other_options_of_a_record(status, share):
    options = RouteOptions(hsts="max-age=1", request_actions=("set.61.62",),
                           reply=http_edge.encode_answer(status, share))
    data = http_edge.encode_options(options, secure=True, forwarded="append")
    reply = http_edge.reply_of(data)
    assert reply is not None
    assert reply.status == status
    assert abs(reply.share - share) < 2 / http_edge.SHARE

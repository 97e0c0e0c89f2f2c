"""Formats of HAProxy as templates of the BIG-IP."""

from f5router.model.access_log import DEFAULT_FORMAT, FACILITIES, head, template
from tests.rows import rows


@rows(("text", "wanted", "missing"), [
    ("%ci:%cp", "$CLIENT_IP:$CLIENT_PORT", ()),
    ("[%tr] %ST", "[$DATE_DD/$DATE_MON/$DATE_YYYY:$TIME_HMS.$TIME_MSECS] $HTTP_STATCODE", ()),
    ("%{+Q}r %r", '"$HTTP_REQUEST" $HTTP_REQUEST', ()),
    ("%{+Q}o%r %{-Q}HM", '"$HTTP_REQUEST" $HTTP_METHOD', ()),
    ("%{+Q,+E}HU", '"$HTTP_URI"', ()),
    ("%[req.hdr(User-Agent)] %[capture.req.hdr(0)]", "${User-Agent} -", ("%[capture.req.hdr(0)]",)),
    ("%(name:str)ci", "$CLIENT_IP", ()),
    ("%TR/%Ta %rc %tsc %hr %ID", "-1/$RESPONSE_MSECS 0 ---- - -", ("%TR", "%rc", "%tsc", "%hr", "%ID")),
    ("%TR %TR", "-1 -1", ("%TR",)),
    ("100%% %unknown", "100% -", ("%unknown",)),
    ("${User-agent} $HTTP_HOST", "${User-agent} $HTTP_HOST", ()),
    ('"%ci \\"%r\\""', '$CLIENT_IP "$HTTP_REQUEST"', ()),
    ("'%ci \\%cp'", "$CLIENT_IP \\$CLIENT_PORT", ()),
    ("%ci\\ %cp", "$CLIENT_IP $CLIENT_PORT", ()),
    ('"', '"', ()),
    ("", "", ()),
])
def test_formats(text, wanted, missing):
    assert template(text) == (wanted, missing)


def test_the_default_has_the_fields_of_haproxy_in_their_places():
    """A parser of HAProxy's log finds a field where it looks for it."""
    text, missing = template(DEFAULT_FORMAT)
    assert len(text.split(" ")) == len(DEFAULT_FORMAT.split(" "))
    assert "%" not in text
    assert "%Tw" in missing


def test_the_head():
    """RFC 3164: facility times 8, and the severity."""
    assert head("local1").startswith("<142>$DATE_MON $DATE_DD $TIME_HMS ")
    assert (FACILITIES.index("kern"), FACILITIES.index("local7"), len(FACILITIES)) == (0, 23, 24)

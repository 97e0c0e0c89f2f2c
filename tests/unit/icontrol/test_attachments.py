"""What is said of a virtual server on which an attachment cannot act."""

import pytest

from f5router.bigip import Attachment, ClientSSL, IRule, Policy, ServerSSL, VirtualFacts
from f5router.icontrol.attachments import _units, attachment_problem
from f5router.plan import CREATE, Change

VIRTUAL = "/Common/https-ose-vserver"
PROFILE = Attachment(VIRTUAL, "profiles", "/Common/openshift_host_a.com-client-ssl-profile", ClientSSL.KIND)
SECURE = Attachment(VIRTUAL, "policies", "/Common/openshift_secure_routes", Policy.KIND)
INSECURE = Attachment(VIRTUAL, "policies", "/Common/openshift_insecure_routes", Policy.KIND)
PASSTHROUGH = Attachment(VIRTUAL, "rules", "/Common/openshift_passthrough_irule", IRule.KIND)
UNAVAILABLE = Attachment(VIRTUAL, "rules", "/Common/openshift_unavailable_irule", IRule.KIND)
REENCRYPT = Attachment(VIRTUAL, "rules", "/Common/openshift_reencrypt_irule", IRule.KIND)
ONE, OTHER = "/Common/one", "/Common/other"


@pytest.mark.parametrize(("attachment", "facts", "words"), [
    pytest.param(PROFILE, {"client_ssl": (ONE,), "sni_defaults": (ONE,)}, "", id="one default"),
    pytest.param(PROFILE, {"client_ssl": (ONE,)}, "0 have (/Common/one)", id="no default"),
    pytest.param(PROFILE, {"client_ssl": (ONE, OTHER), "sni_defaults": (ONE, OTHER)},
                 "2 have (/Common/one, /Common/other)", id="two defaults"),
    pytest.param(PROFILE, {}, "client SSL profile is missing", id="no client SSL profile"),
    pytest.param(SECURE, {}, "client SSL profile is missing", id="policy without client SSL profile"),
    pytest.param(SECURE, {"client_ssl": (ONE,)}, "", id="policy needs no default"),
    pytest.param(SECURE, {"client_ssl": (ONE,), "http": False}, "http profile is missing",
                 id="no http profile"),
    pytest.param(INSECURE, {}, "", id="port 80 needs no client SSL profile"),
    pytest.param(INSECURE, {"http": False}, "http profile is missing", id="but an http profile"),
    pytest.param(PASSTHROUGH, {"client_ssl": (ONE,), "http": False}, "http profile is missing",
                 id="passthrough too"),
    pytest.param(UNAVAILABLE, {}, "", id="503 page"),
    pytest.param(UNAVAILABLE, {"http": False}, "http profile is missing", id="503 page too"),
    pytest.param(REENCRYPT, {}, "", id="TLS towards pods brings its own profile"),
    pytest.param(INSECURE, {"exists": False}, "does not exist", id="no virtual server"),
])
def test_problems(attachment, facts, words):
    problem = attachment_problem(attachment, VirtualFacts(VIRTUAL, **facts))
    assert (words in problem) if words else problem == ""
    assert not problem or VIRTUAL in problem


def test_the_503_page_is_written_apart():
    """Where a device refuses it, the iRules and profiles that Routes need are attached all the same."""
    tls = Attachment(VIRTUAL, "profiles", "/Common/openshift_default-server-ssl-profile", ServerSSL.KIND)
    changes = [Change(CREATE, None, one) for one in (UNAVAILABLE, PASSTHROUGH, tls, REENCRYPT, PROFILE)]
    units = [{change.obj for change in unit} for unit in _units(changes)]
    assert units == [{PASSTHROUGH, tls, REENCRYPT}, {UNAVAILABLE}, {PROFILE}]

"""Which network plug-in it is, as far as a cluster tells."""

import pytest

from f5router.model.errors import KubeForbidden, KubeUnreachable, ResourceExpired, ResourceUnavailable
from ghost_hostsubnet.cluster import GROUP, OAPI, NoHostSubnets, SDNClient

CONFIG = "/apis/config.openshift.io/v1/networks/cluster"
HOSTSUBNETS = {"resources": [{"name": "hostsubnets"}]}
CLOSED = KubeForbidden("no")


class Answers:
    """A Connection that has an answer to a few paths; to others 404."""

    def __init__(self, answers: dict):
        self._answers = answers

    def request(self, method, path, **options):
        answer = self._answers.get(path, ResourceUnavailable(path))
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(("answers", "words"), [
    pytest.param({}, "(which one it is could not be found out)", id="nothing"),
    pytest.param({CONFIG: {"status": {"networkType": "OVNKubernetes"}}}, "(that is OVNKubernetes)",
                 id="status"),
    pytest.param({CONFIG: {"spec": {"networkType": "Calico"}, "status": {}}}, "(that is Calico)", id="spec"),
    pytest.param({CONFIG: {"status": None}, "/apis": {"groups": [{"name": "apps"}, {"name": "cilium.io"}]}},
                 "(that is Cilium)", id="group"),
    pytest.param({CONFIG: CLOSED, "/apis": {"groups": [{"name": "crd.projectcalico.org"}]}},
                 "(that is Calico)", id="no right to the configuration"),
    pytest.param({CONFIG: [], "/apis": "odd"}, "could not be found out", id="odd"),
])
def test_no_hostsubnets(answers, words):
    with pytest.raises(NoHostSubnets) as caught:
        SDNClient(Answers(answers))
    assert words in str(caught.value)


class Stream(list):
    """Events of a watch."""

    def close(self):
        self.closed = True


@pytest.mark.parametrize(("event", "error"), [
    pytest.param({"type": "ERROR", "object": {"code": 410, "message": "too old"}}, ResourceExpired, id="410"),
    pytest.param({"type": "ADDED", "object": None}, KubeUnreachable, id="no object"),
    pytest.param("odd", KubeUnreachable, id="no event"),
])
def test_watch_that_fails(event, error):
    """The stream is closed, whatever was in it."""
    hostsubnet = {"metadata": {"name": "f5", "resourceVersion": "11"}}
    bookmark = {"type": "BOOKMARK", "object": hostsubnet}
    stream = Stream([bookmark, {"type": "DELETED", "object": hostsubnet}, event])
    cluster = SDNClient(Answers({OAPI.path: HOSTSUBNETS, "/oapi/v1/hostsubnets": stream}))
    seen = cluster.watch("10", lasts_s=5)
    assert next(seen) == (True, {"apiVersion": "v1", "kind": "HostSubnet"} | hostsubnet, "11")
    with pytest.raises(error):
        next(seen)
    assert stream.closed


@pytest.mark.parametrize(("answers", "api"), [
    pytest.param({GROUP.path: HOSTSUBNETS, OAPI.path: HOSTSUBNETS}, GROUP, id="both: the group"),
    pytest.param({OAPI.path: HOSTSUBNETS}, OAPI, id="oldest"),
    pytest.param({GROUP.path: {"resources": [{"name": "netnamespaces"}]}, OAPI.path: HOSTSUBNETS}, OAPI,
                 id="group without the kind"),
    pytest.param({GROUP.path: CLOSED, OAPI.path: HOSTSUBNETS}, OAPI, id="closed, but the other is not"),
    pytest.param({GROUP.path: CLOSED, OAPI.path: CLOSED}, GROUP, id="closed"),
])
def test_where(answers, api):
    assert SDNClient(Answers(answers)).api == api

"""f5router.icontrol.codec.adoption_codec: what an administrator had on a virtual server comes back."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.icontrol.codec import adoption_codec
from f5router.model.virtual_server import VirtualServer

OWN = ("/Common/openshift_tcp-client-profile", "clientside")
SERVER = VirtualServer("/Common/web", "10.0.0.1", 80, frozenset({OWN}), "automap", 0)


def profile(kind: str, path: str, context: str) -> dict:
    return {"fullPath": path, "context": context,
            "nameReference": {"link": f"https://localhost/mgmt/tm/ltm/profile/{kind}/x?ver=14.1.2"}}


def server(*profiles: dict, **others: object) -> dict:
    return {"fullPath": SERVER.path, "destination": "/Common/10.0.0.1:80",
            "profilesReference": {"items": list(profiles)}, **others}


@given(st.text("ab .&=%+\"{}\\", min_size=1).map("/Common/x{}y".format),
       st.sampled_from(["all", "serverside"]), st.text(max_size=20))
def test_profiles_and_description_come_back(path, context, description):
    """Whatever characters a name has."""
    body = adoption_codec.taking(
        server(profile("tcp", path, context), description=description), SERVER, "f5router", metadata=True)
    back = adoption_codec.giving_back(server(
        profile("tcp", *OWN), metadata=body["metadata"], description=body["description"]))
    assert {"name": path, "context": context} in back["profiles"]
    assert back["description"] == description

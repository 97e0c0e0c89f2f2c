"""The router's default certificate in the place of the administrator's, at every single write."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.conftest import HTTPS
from tests.waiting import until

OURS, FORMER = "/Common/openshift_default-client-ssl-profile", "/Common/clientssl-default"
SITE, NEXT = identity("site.example.com", serial=1), identity("site.example.com", serial=2)
SHOP = identity("www.example.com")
PEM = SITE.certificate + SITE.issuer + SITE.key


def attached(lab) -> list[str]:
    """Client SSL profiles of the virtual server."""
    path = f"{lab.partition}/{HTTPS}".replace("/", "~")
    items = lab.bigip.get(f"ltm/virtual/{path}")["profilesReference"]["items"]
    profiles = lab.paths("ltm/profile/client-ssl")
    return sorted(item["fullPath"] for item in items if item["fullPath"] in profiles)


def defaults(lab) -> list[str]:
    """Return the profiles that are default for SNI."""
    return [path for path in attached(lab) if lab.bigip.get(
        f"ltm/profile/client-ssl/{path.replace('/', '~')}")["sniDefault"] == "true"]


def profile(lab) -> dict:
    return lab.bigip.get(f"ltm/profile/client-ssl/{OURS.replace('/', '~')}")


def left(lab) -> set[str]:
    """Objects of the default certificate."""
    kinds = ("ltm/profile/client-ssl", "sys/file/ssl-cert", "sys/file/ssl-key")
    return {path for kind in kinds for path in lab.paths(kind) if "/openshift_default-" in path}


@pytest.fixture
def shop(lab):
    lab.apply(manifests.route("www", host="www.example.com", kind="edge", certificate=SHOP.certificate,
                              key=SHOP.key))
    return lab


def test_it_takes_the_place_of_the_administrators(shop):
    assert shop.converge(default_certificate=PEM) == []
    assert attached(shop) == [OURS, "/Common/openshift_host_www.example.com-client-ssl-profile"]
    assert defaults(shop) == [OURS]
    read = profile(shop)
    assert (read["defaultsFrom"], read["serverName"]) == (FORMER, "none")
    assert shop.content(read["cert"]) == SITE.certificate
    assert shop.content(read["chain"]) == SITE.issuer
    assert FORMER in shop.paths("ltm/profile/client-ssl")


def test_a_restart_writes_nothing(shop):
    shop.converge(default_certificate=PEM)
    shop.clear()
    assert shop.converge(default_certificate=PEM) == []
    assert shop.writes() == []


def test_without_the_setting_the_administrators_comes_back(shop):
    shop.converge(default_certificate=PEM)
    assert shop.converge() == []
    assert defaults(shop) == [FORMER]
    assert left(shop) == set()
    shop.clear()
    assert shop.converge() == []
    assert shop.writes() == []


def test_a_profile_that_is_no_default_is_replaced_as_well(lab):
    """The only profile serves everybody, whatever it says."""
    lab.change("PATCH", "ltm/profile/client-ssl/~Common~clientssl-default", {"sniDefault": "false"})
    lab.apply(manifests.route("www", host="www.example.com", kind="edge", certificate=SHOP.certificate,
                              key=SHOP.key))
    assert lab.converge(default_certificate=PEM) == []
    assert defaults(lab) == [OURS]
    assert lab.admitted("shop", "www")["status"] == "True"
    # With several profiles one must be default: the former cannot come back while Routes have theirs.
    assert lab.converge() != []
    assert defaults(lab) == [OURS]


def test_every_write_leaves_one_default(shop):
    """Both ways, cut off at every write and gone on with; then the same with every write refused once."""
    seen = []
    for flags in ({"default_certificate": PEM}, {}, {"default_certificate": PEM}):
        shop.bigip.on_write = lambda entry: seen.append(tuple(defaults(shop)))
        shop.converge(**flags)
    shop.bigip.on_write = None
    assert seen
    assert set(seen) == {(OURS,), (FORMER,)}


@pytest.mark.parametrize("removing", [False, True], ids=["set", "removed"])
def test_cut_off_at_any_write(shop, removing):
    before, after = ({"default_certificate": PEM}, {}) if removing else ({}, {"default_certificate": PEM})
    assert shop.converge(**before) == []
    for _ in shop.each_end(5, **after):
        assert len(defaults(shop)) == 1
        assert shop.converge(**after) == []
        assert defaults(shop) == [FORMER if removing else OURS]
        assert bool(left(shop)) is not removing


def test_a_refused_attachment_leaves_the_administrators(shop):
    shop.converge()
    shop.bigip.inject("refuse", method="PATCH", path="ltm/virtual", status=400, message="no", times=None)
    assert shop.converge(default_certificate=PEM) != []
    assert defaults(shop) == [FORMER]
    assert shop.admitted("shop", "www")["status"] == "True"


def test_no_client_ssl_profile_at_all(make_lab):
    lab = make_lab()
    lab.virtuals(profiles=("/Common/tcp", "/Common/http"))
    reasons = lab.converge(default_certificate=PEM)
    assert attached(lab) == []
    assert any("a client SSL profile is missing" in reason for reason in reasons)


def test_a_changed_file(shop, tmp_path, running):
    """The new certificate is one update of the profile; a bad file changes nothing."""
    path = tmp_path / "default.pem"
    path.write_text(PEM)
    loop = running(default_certificate_path=str(path))
    loop.wait(lambda: defaults(shop) == [OURS])
    old = left(shop)
    path.write_text("spoiled")
    loop.later()
    path.write_text(NEXT.certificate + NEXT.key)
    loop.later()
    loop.wait(lambda: left(shop) and not left(shop) & (old - {OURS}))
    assert shop.content(profile(shop)["cert"]) == NEXT.certificate
    assert profile(shop)["chain"] == "none"
    assert defaults(shop) == [OURS]


def test_the_key_is_in_no_request_but_its_upload(shop, caplog):
    caplog.set_level("DEBUG")
    shop.converge(default_certificate=PEM)
    until(lambda: defaults(shop) == [OURS])
    assert SITE.key.splitlines()[1] not in caplog.text
    assert not [entry for entry in shop.bigip.writes() if "PRIVATE KEY" in str(entry.body)
                and "file-transfer" not in entry.path]

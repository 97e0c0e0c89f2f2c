"""Versions and cipher suites of the settings: on which profiles they are, and what a change costs."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.test_default_certificate import FORMER, OURS, PEM, attached, defaults, profile

PARENT = "/Common/openshift_routes-parent-client-ssl-profile"
DEFAULT_PARENT = "/Common/openshift_default-parent-client-ssl-profile"
HOSTS = [f"h{number}.example.com" for number in range(6)]
MODERN = {"ciphers": "modern"}


def read(lab, path: str) -> dict:
    return lab.bigip.get(f"ltm/profile/client-ssl/{path.replace('/', '~')}")


def of_hosts(lab) -> list[dict]:
    paths = sorted(path for path in lab.paths("ltm/profile/client-ssl") if "/openshift_host_" in path)
    return [read(lab, path) for path in paths]


def options(raw: dict) -> set[str]:
    value = raw["tmOptions"]
    return set(value) if isinstance(value, list) else set(value.strip("{} ").split())


def routes(lab) -> None:
    for number, host in enumerate(HOSTS):
        pair = identity(host)
        lab.apply(manifests.route(f"r{number}", host=host, kind="edge", certificate=pair.certificate,
                                  key=pair.key))


@pytest.fixture
def shop(lab):
    routes(lab)
    assert lab.converge() == []
    return lab


def test_without_settings_nothing_is_there(shop):
    assert not {PARENT, DEFAULT_PARENT, OURS} & shop.paths("ltm/profile/client-ssl")
    assert {raw["defaultsFrom"] for raw in of_hosts(shop)} == {"/Common/clientssl"}


def test_all_profiles_have_them(shop):
    """Also the default one, whose certificate stays the administrator's."""
    assert shop.converge(**MODERN, ssl_min_version="TLSv1.2", ssl_max_version="TLSv1.2") == []
    profiles = [*of_hosts(shop), profile(shop)]
    assert {raw["defaultsFrom"] for raw in of_hosts(shop)} == {PARENT}
    assert len({raw["ciphers"] for raw in profiles}) == 1
    assert profiles[0]["ciphers"].startswith("ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:")
    assert "DEFAULT" not in profiles[0]["ciphers"]
    for raw in profiles:
        assert options(raw) == {"dont-insert-empty-fragments", "no-sslv3", "no-tlsv1", "no-tlsv1.1",
                                "no-tlsv1.3"}
    assert defaults(shop) == [OURS]
    assert profile(shop)["cert"] == read(shop, FORMER)["cert"]
    assert profile(shop)["inheritCertkeychain"] == "true"


def test_a_restart_writes_nothing(shop):
    shop.converge(**MODERN, ssl_min_version="TLSv1.3")
    shop.clear()
    assert shop.converge(**MODERN, ssl_min_version="TLSv1.3") == []
    assert shop.writes() == []


def test_a_change_is_a_write_of_each_parent(shop):
    """However many Hosts there are."""
    shop.converge(**MODERN)
    shop.clear()
    assert shop.converge(ciphers="intermediate") == []
    assert sorted(path.rpartition("~")[2] for _, path in shop.writes() if "client-ssl" in path) == [
        DEFAULT_PARENT.rpartition("/")[2], PARENT.rpartition("/")[2]]
    assert len({raw["ciphers"] for raw in [*of_hosts(shop), profile(shop)]}) == 1
    assert "DHE-RSA-AES128-SHA" in profile(shop)["ciphers"]


def test_a_setting_that_is_removed_beside_others(shop):
    """The parent gets what it would inherit."""
    shop.converge(**MODERN, ssl_min_version="TLSv1.2")
    assert shop.converge(ssl_min_version="TLSv1.2") == []
    assert {raw["ciphers"] for raw in [*of_hosts(shop), profile(shop)]} == {"DEFAULT"}
    assert "no-tlsv1.1" in options(profile(shop))


def test_without_settings_all_is_as_before(shop):
    before = shop.paths("ltm/profile/client-ssl")
    shop.converge(**MODERN)
    assert shop.converge() == []
    assert shop.paths("ltm/profile/client-ssl") == before
    assert {raw["defaultsFrom"] for raw in of_hosts(shop)} == {"/Common/clientssl"}
    assert defaults(shop) == [FORMER]


def test_beside_a_default_certificate(shop):
    """It comes and goes with the settings in place."""
    assert shop.converge(**MODERN, default_certificate=PEM) == []
    own = profile(shop)
    assert (own["defaultsFrom"], read(shop, DEFAULT_PARENT)["defaultsFrom"]) == (DEFAULT_PARENT, FORMER)
    assert shop.converge(**MODERN) == []
    assert profile(shop)["cert"] == read(shop, FORMER)["cert"]
    assert not [path for path in shop.paths("sys/file/ssl-key") if "openshift_default" in path]
    assert shop.converge(default_certificate=PEM) == []
    assert profile(shop)["defaultsFrom"] == FORMER
    assert shop.converge() == []
    assert attached(shop)[0] == FORMER


def test_a_device_that_takes_no_inheritance_back(make_lab):
    """The default certificate goes on to be shown; everything else is as set."""
    lab = make_lab(quirks=["inheritance-refused"])
    lab.virtuals()
    assert lab.converge(**MODERN, default_certificate=PEM) == []
    lab.converge(ciphers="intermediate")
    assert defaults(lab) == [OURS]
    assert "DHE-RSA-AES128-SHA" in profile(lab)["ciphers"]
    assert profile(lab)["cert"].endswith(".crt")


def test_what_the_administrator_changes_is_followed(shop):
    """His default profile goes on to decide what no setting decides."""
    shop.converge(**MODERN)
    shop.change("PATCH", f"ltm/profile/client-ssl/{FORMER.replace('/', '~')}",
                {"tmOptions": "{ no-renegotiation }", "alertTimeout": "10"})
    assert shop.converge(**MODERN) == []
    assert options(profile(shop)) == {"no-renegotiation"}
    assert profile(shop)["alertTimeout"] == "10"
    assert options(of_hosts(shop)[0]) == {"dont-insert-empty-fragments", "no-tlsv1.3"}


def test_a_cipher_group_of_the_administrator(shop):
    """It is kept beside other settings, in both of its places; only a list of suites goes before it."""
    def groups() -> set[tuple[str, str]]:
        return {(raw["cipherGroup"], raw["ciphers"]) for raw in [*of_hosts(shop), profile(shop)]}

    for path in ("/Common/clientssl", FORMER):
        shop.change("PATCH", f"ltm/profile/client-ssl/{path.replace('/', '~')}",
                    {"cipherGroup": "/Common/f5-secure"})
    assert shop.converge(ssl_min_version="TLSv1.2") == []
    assert groups() == {("/Common/f5-secure", "none")}
    assert shop.converge(ciphers="AES128-SHA") == []
    assert groups() == {("none", profile(shop)["ciphers"])}
    assert shop.converge(ssl_min_version="TLSv1.2") == []
    assert groups() == {("/Common/f5-secure", "none")}


@pytest.mark.parametrize("version", ["11.6.0", "12.1.2", "13.1.0", "16.1.2"])
def test_versions(make_lab, version):
    """No version gets a word that it does not know."""
    old = version.startswith("11")
    lab = make_lab(tmos_version=version, ssh=old)
    lab.virtuals()
    flags = lab.ssh_flags() if old else {}
    routes(lab)
    settings = {**flags, "ciphers": "old", "ssl_min_version": "TLSv1.0"}
    assert lab.converge(**settings) == []
    text = profile(lab)["ciphers"]
    assert ("CHACHA20" in text, "TLS13-" in text) == (version > "14", version > "14")
    assert not options(profile(lab)) & {"no-tlsv1", "no-tlsv1.3"}
    lab.clear()
    assert lab.converge(**settings) == []
    assert lab.writes() == []


def test_cut_off_at_any_write(shop):
    """The setting comes and goes, and a Host never lacks its certificate."""
    for after in (MODERN, {}):
        for number in shop.each_end(9, **after):
            assert len(defaults(shop)) == 1
            assert len(attached(shop)) == len(HOSTS) + 1
            if number % 2:
                assert shop.converge(**after) == []

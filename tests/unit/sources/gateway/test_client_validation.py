"""Validation of client certificates by a Gateway: what is wrong with it, and how much of it there may be."""

from f5router.admission import pem
from f5router.model.cluster import OPAQUE, Key, Secret
from f5router.model.secret_keys import config_map_key
from f5router.sources.settings import ServedPorts
from tests.builders import identity
from tests.gateways import gateway, listener
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite, certificate

OK = ("True", "Accepted")
CA, OTHER = (identity(ca=name).issuer for name in ("Client CA", "Another CA"))
SERVER = certificate(certificate=identity("a.example.com").certificate)


def config_map(name: str, text: str) -> Secret:
    return Secret(config_map_key(Key("infra", name)), OPAQUE, authorities=text)


def refs(*names: str) -> dict:
    listed = [{"group": "", "kind": "ConfigMap", "name": name} for name in names]
    return {"validation": {"caCertificateRefs": listed}}


def asking(frontend: dict, *secrets: Secret, ports: tuple[int, ...] = (443,)) -> GatewaySite:
    """A Gateway that asks clients for certificates. Args: frontend: spec.tls.frontend."""
    site = GatewaySite(served=ServedPorts(), ranges="10.9.0.0/28")
    site.put(gateway("web", *(listener(f"l{port}", port, "HTTPS", secret="tls") for port in ports),
                     tls={"frontend": frontend}), secrets=(SERVER, *secrets))
    return site


def authorities(site: GatewaySite) -> list[str | None]:
    """Return those of each port."""
    return [each.validation.authorities for each in site.source.front_ends if each.validation]


def test_authorities_of_all_ports_are_in_memory_once():
    """However often a ConfigMap is named."""
    ports = (443, 444, 445)
    frontend = {"default": refs(*["ca"] * 8), "perPort": [{"port": 445, "tls": refs("copy", "ca")}]}
    site = asking(frontend, config_map("ca", CA), config_map("copy", CA), ports=ports)
    first, *others = authorities(site)
    assert first == CA
    assert len(others) == 2
    assert all(each is first for each in others)


def test_authorities_of_a_port_have_a_bound_together():
    """It is that of one ConfigMap; those beyond it cannot be used."""
    most = 900 * CA
    assert len(most) < pem.MAX_TEXT < 2 * len(most)
    site = asking({"default": refs("most", "other", "most")}, config_map("most", most),
                  config_map("other", most.replace(CA, OTHER, 1)))
    assert authorities(site) == [most]
    assert site.listener("l443")["ResolvedRefs"] == ("False", "InvalidCACertificateRef")
    assert site.listener("l443")["Programmed"] == ("True", "Programmed")


@rows("name", ["No Such_Name", "../ca", "é"])
def test_a_name_that_no_config_map_can_have(name):
    """Nobody waits for it."""
    site = asking({"default": refs(name)}, config_map("ca", CA))
    assert site.listener("l443")["Accepted"] == ("False", "NoValidCACertificate")
    assert site.listener("l443")["ResolvedRefs"] == ("False", "InvalidCACertificateRef")
    site = asking({"default": refs(name, "ca")}, config_map("ca", CA))
    assert (site.listener("l443")["Accepted"], authorities(site)) == (OK, [CA])


@rows("validation", [{}, {"caCertificateRefs": []}])
def test_a_validation_without_authorities_lets_nobody_in(validation):
    site = asking({"default": {"validation": validation}})
    assert site.listener("l443")["Accepted"] == ("False", "NoValidCACertificate")
    assert site.source.front_ends == ()


@rows("validation", [[], "", 0, False, {"caCertificateRefs": {}}])
def test_a_validation_of_a_wrong_type_lets_nobody_in(validation):
    site = asking({"default": {"validation": validation}})
    assert site.conditions()["Accepted"] == ("False", "Invalid")
    assert site.source.front_ends == ()

"""Versions and cipher suites of the settings."""

import pytest

from f5router.model.cipher_suites import TLS13
from f5router.model.client_tls import TLSSettings
from tests.unit.config.loading import config, problems

RSA = "ECDHE-RSA-AES128-GCM-SHA256"


@pytest.mark.parametrize(("env", "settings"), [
    ({}, TLSSettings()),
    ({"SSL_MIN_VERSION": "TLSv1.0"}, TLSSettings(minimum="1.0", maximum="1.3")),
    ({"SSL_MAX_VERSION": "TLSv1.3"}, TLSSettings(minimum="1.2", maximum="1.3")),
    ({"SSL_MAX_VERSION": "TLSv1.1"}, TLSSettings(minimum="1.1", maximum="1.1")),
    ({"ROUTER_CIPHERS": RSA}, TLSSettings((RSA,), tuple(TLS13))),
    ({"ROUTER_CIPHERS": RSA, "ROUTER_CIPHERSUITES": "TLS_AES_128_GCM_SHA256"},
     TLSSettings((RSA,), ("TLS_AES_128_GCM_SHA256",))),
])
def test_settings(env, settings):
    assert config(env).client_tls == settings
    assert bool(config(env).client_tls) is bool(env)


def test_client_certificates():
    settings = config({"ROUTER_MUTUAL_TLS_AUTH": "optional", "ROUTER_MUTUAL_TLS_AUTH_FILTER": "^/CN=x"})
    assert settings.client_tls == TLSSettings(client_certificates="optional", client_filter="^/CN=x")
    assert [line for line in settings.warnings if "every public CA" in line]
    unused = config({"ROUTER_MUTUAL_TLS_AUTH_FILTER": "x", "ROUTER_MUTUAL_TLS_AUTH_CA": "/missing"})
    assert (unused.client_tls, bool(unused.tls_paths)) == (TLSSettings(), False)
    assert len([line for line in unused.warnings if "clients are not asked for certificates" in line]) == 2


@pytest.mark.parametrize(("env", "words"), [
    ({"ROUTER_CIPHERS": f"{RSA}:X"},
     "ROUTER_CIPHERS: left out, the BIG-IP has no cipher suite of this name: X"),
    ({"ROUTER_CIPHERSUITES": "TLS_AES_128_GCM_SHA256"}, "ROUTER_CIPHERSUITES: not used"),
])
def test_warnings(env, words):
    assert [line for line in config(env).warnings if words in line]


@pytest.mark.parametrize(("env", "words"), [
    ({"ROUTER_CIPHERS": "X"}, "'X' leaves no cipher suite that a BIG-IP has"),
    ({"ROUTER_CIPHERSUITES": "X", "ROUTER_CIPHERS": RSA}, "'X' leaves no cipher suite of TLS 1.3"),
    ({"SSL_MIN_VERSION": "1.2"}, "'1.2' is not one of SSLv3, TLSv1.0"),
    ({"SSL_MIN_VERSION": "TLSv1.3", "SSL_MAX_VERSION": "TLSv1.2"},
     "the oldest version is newer than the newest"),
])
def test_problems(env, words):
    (problem,) = problems(env)
    assert words in problem

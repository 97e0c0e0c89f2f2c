"""The parts of HAProxy's configuration that do not depend on Routes, as OpenShift's router makes them.

Source: openshift/router, images/router/haproxy/conf/haproxy-config.template.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.differential.haproxy_headers import setting_lines, unique_id_lines

TRUE = "1|t|T|true|TRUE|True"
SOCKET = "stats"
REMOVED = ("Proxy", "X-SSL", "X-SSL-Issuer", *(f"X-SSL-Client-{suffix}" for suffix in (
    "CN", "DER", "DN", "NotAfter", "NotBefore", "SHA1", "Serial", "Subject", "Verify", "Version")))
"""Headers of requests."""


_MODERN = (
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
    "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256")
_INTERMEDIATE = (
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256:"
    "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "DHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256:"
    "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES256-SHA384:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA384:"
    "ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:DHE-RSA-AES128-SHA256:DHE-RSA-AES128-SHA:"
    "DHE-RSA-AES256-SHA256:DHE-RSA-AES256-SHA:ECDHE-ECDSA-DES-CBC3-SHA:ECDHE-RSA-DES-CBC3-SHA:"
    "EDH-RSA-DES-CBC3-SHA:AES128-GCM-SHA256:AES256-GCM-SHA384:AES128-SHA256:AES256-SHA256:AES128-SHA:"
    "AES256-SHA:DES-CBC3-SHA:!DSS")
CIPHERS = {"modern": _MODERN, "intermediate": _INTERMEDIATE}
"""Lists that ROUTER_CIPHERS names."""


@dataclass(frozen=True)
class Listeners:
    """File descriptors of the listening sockets that HAProxy inherits, and ports of the inner ones."""

    http: int
    https: int
    sni: int
    no_sni: int
    sni_port: int
    no_sni_port: int


def frontends(folder: Path, listeners: Listeners, variables: Mapping[str, str]) -> list[list[str]]:
    """Return the sections that do not depend on Routes."""
    types = variables.get("ROUTER_COMPRESSION_MIME") or "text/html text/plain text/css"
    compresses = re.fullmatch(TRUE, variables.get("ROUTER_ENABLE_COMPRESSION", ""))
    pages = [f"errorfile {status} {path}" for status in (503, 404)
             if (path := variables.get(f"ROUTER_ERRORFILE_{status}"))]
    refused = ["http-request deny deny_status 404"] if variables.get("ROUTER_ERRORFILE_404") else []
    compression = ["compression algo gzip", f"compression type {types}"] if compresses else []
    request = ["mode http", *(f"http-request del-header {name}" for name in REMOVED),
               "http-request set-header Host %[req.hdr(Host),lower]",
               *setting_lines(variables, "request"), *setting_lines(variables, "response"),
               *unique_id_lines(variables)]
    secure = [*request, *_about_client(variables),
              f"use_backend %[base,map_reg({folder}/os_edge_reencrypt_be.map)]",
              "default_backend openshift_default"]
    verify = _verify(variables)
    proxied = " accept-proxy" if re.fullmatch(TRUE, variables.get("ROUTER_USE_PROXY_PROTOCOL", "")) else ""
    strict = " strict-sni" if re.fullmatch(TRUE, variables.get("ROUTER_STRICT_SNI", "")) else ""
    most = variables.get("ROUTER_MAX_CONNECTIONS", 2000)
    logged = ["option httplog", "log global"] if _logged(variables) else []
    passed = f"req.ssl_sni,lower,map_reg({folder}/os_sni_passthrough.map)"
    return [
        ["global", f"stats socket {folder}/{SOCKET} level user", "maxconn 2000",
         "nbthread 1", f"tune.maxrewrite {variables.get('ROUTER_MAX_REWRITE_SIZE', 8192)}",
         f"tune.bufsize {variables.get('ROUTER_BUF_SIZE', 32768)}", *_logged(variables), *_tls(variables)],
        ["defaults", f"maxconn {most}", *_times(variables), *logged, *compression, *pages],
        ["frontend public", f"bind fd@{listeners.http}{proxied}", *request,
         f"acl secure_redirect base,map_reg_int({folder}/os_route_http_redirect.map) -m bool",
         "redirect scheme https if secure_redirect",
         f"use_backend %[base,map_reg({folder}/os_http_be.map)]", "default_backend openshift_default"],
        ["frontend public_ssl", f"bind fd@{listeners.https}{proxied}", "mode tcp",
         f"tcp-request inspect-delay {variables.get('ROUTER_INSPECT_DELAY', '5s')}",
         "tcp-request content accept if { req_ssl_hello_type 1 }", "acl sni req.ssl_sni -m found",
         f"acl sni_passthrough {passed} -m found",
         f"use_backend %[req.ssl_sni,lower,map_reg({folder}/os_tcp_be.map)] if sni sni_passthrough",
         "use_backend be_sni if sni", "default_backend be_no_sni"],
        ["backend be_sni", "mode tcp", f"server fe_sni 127.0.0.1:{listeners.sni_port} send-proxy"],
        ["frontend fe_sni", f"bind fd@{listeners.sni} ssl{strict} crt {folder}/default.pem "
                            f"crt-list {folder}/cert_config.map accept-proxy{verify}", *secure],
        ["backend be_no_sni", "mode tcp", f"server fe_no_sni 127.0.0.1:{listeners.no_sni_port} send-proxy"],
        ["frontend fe_no_sni", f"bind fd@{listeners.no_sni} ssl crt {folder}/default.pem "
                               f"accept-proxy{verify}", *secure],
        ["backend openshift_default", "mode http", "option forwardfor", "option http-pretend-keepalive",
         *refused],
    ]


TIMES = {
    "connect": ("ROUTER_DEFAULT_CONNECT_TIMEOUT", "5s"), "client": ("ROUTER_DEFAULT_CLIENT_TIMEOUT", "30s"),
    "client-fin": ("ROUTER_CLIENT_FIN_TIMEOUT", "1s"), "server": ("ROUTER_DEFAULT_SERVER_TIMEOUT", "30s"),
    "server-fin": ("ROUTER_DEFAULT_SERVER_FIN_TIMEOUT", "1s"),
    "http-request": ("ROUTER_SLOWLORIS_TIMEOUT", "10s"),
    "http-keep-alive": ("ROUTER_SLOWLORIS_HTTP_KEEPALIVE", "300s"),
    "tunnel": ("ROUTER_DEFAULT_TUNNEL_TIMEOUT", "1h")}
"""HAProxy's name of each time-out to its variable, and to its default."""


def _times(variables: Mapping[str, str]) -> list[str]:
    return [f"timeout {name} {variables.get(variable, default)}"
            for name, (variable, default) in TIMES.items()]


def _logged(variables: Mapping[str, str]) -> list[str]:
    """Return the lines that send an access log."""
    where, facility = variables.get("ROUTER_SYSLOG_ADDRESS"), variables.get("ROUTER_LOG_FACILITY", "local1")
    return [f"log {where} len 1024 {facility} info", "log-send-hostname"] if where else []


def _tls(variables: Mapping[str, str]) -> list[str]:
    """Return the lines about versions and cipher suites."""
    newest = variables.get("SSL_MAX_VERSION")
    versions = [f"ssl-min-ver {variables.get('SSL_MIN_VERSION') or 'TLSv1.2'}",
                *([f"ssl-max-ver {newest}"] if newest else [])]
    lines = [f"ssl-default-bind-options {' '.join(versions)}"]
    for name, word in (("ROUTER_CIPHERS", "ciphers"), ("ROUTER_CIPHERSUITES", "ciphersuites")):
        text = variables.get(name, "")
        lines += [f"ssl-default-bind-{word} {CIPHERS.get(text, text)}"] if text else []
    return lines


def _verify(variables: Mapping[str, str]) -> str:
    """Return the options of a TLS frontend for client certificates."""
    if not (mode := variables.get("ROUTER_MUTUAL_TLS_AUTH")):
        return ""
    crl = variables.get("ROUTER_MUTUAL_TLS_AUTH_CRL")
    return (f" verify {mode} ca-file {variables['ROUTER_MUTUAL_TLS_AUTH_CA']}"
            + (f" crl-file {crl}" if crl else ""))


def _about_client(variables: Mapping[str, str]) -> list[str]:
    """Return the lines of a TLS frontend about the client certificate of a request."""
    if variables.get("ROUTER_MUTUAL_TLS_AUTH", "none") == "none":
        return []
    expression = variables.get("ROUTER_MUTUAL_TLS_AUTH_FILTER")
    denied = [f"acl cert_cn_matches ssl_c_s_dn -m reg {expression}",
              "http-request deny unless cert_cn_matches"] if expression else []
    values = {"Client-Serial": "ssl_c_serial,hex", "Client-Version": "ssl_c_version",
              "Client-SHA1": "ssl_c_sha1,hex", "Client-DN": "ssl_c_s_dn", "Client-CN": "ssl_c_s_dn(cn)",
              "Issuer": "ssl_c_i_dn", "Client-NotBefore": "ssl_c_notbefore",
              "Client-NotAfter": "ssl_c_notafter", "Client-DER": "ssl_c_der,base64"}
    return [*denied, "http-request set-header X-SSL %[ssl_fc]",
            "http-request set-header X-SSL-Client-Verify %[ssl_c_verify]",
            *(f"http-request set-header X-SSL-{name} %{{+Q}}[{fetch}]" for name, fetch in values.items())]

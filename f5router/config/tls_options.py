"""Settings of TLS towards clients, a part of the table in options.py.

Source of names and defaults: openshift/router, pkg/cmd/infra/router/template.go: TemplateRouter.Bind.
"""

from f5router.config import parsers
from f5router.config.option import TLS, Option, boolean

OPTIONS = (
    Option("default-certificate", "DEFAULT_CERTIFICATE", "", TLS,
           "Certificate, chain and private key, PEM, that clients get for whose server name no Route has a "
           "certificate; goes before the two settings below. The flag shows the key in the process list.",
           "PEM", secret=True),
    Option("default-certificate-path", "DEFAULT_CERTIFICATE_PATH", "", TLS,
           "The same in a file, which is read again when it changes; goes before the directory.", "FILE"),
    Option("default-certificate-dir", "DEFAULT_CERTIFICATE_DIR", "", TLS,
           "The same in a directory: tls.crt and, if that holds no key, tls.key.", "DIRECTORY"),
    boolean("strict-sni", "ROUTER_STRICT_SNI", "false", TLS,
            "Refuse clients whose server name no certificate has; needs one of the three settings above."),
    Option("ciphers", "ROUTER_CIPHERS", "", TLS,
           "Cipher suites up to TLS 1.2: modern, intermediate, old, or a list of OpenSSL; without it, those "
           "of the parent profile.", "NAME:..."),
    Option("ciphersuites", "ROUTER_CIPHERSUITES", "", TLS,
           "Cipher suites of TLS 1.3, with the setting above; without it, all.", "NAME:..."),
    Option("ssl-min-version", "SSL_MIN_VERSION", "", TLS,
           "Oldest version of TLS for clients: SSLv3, TLSv1.0, TLSv1.1, TLSv1.2 or TLSv1.3; without both, "
           "those of the parent profile.", "VERSION", parsers.client_tls_version),
    Option("ssl-max-version", "SSL_MAX_VERSION", "", TLS,
           "Newest version of TLS for clients; without it, TLSv1.3.", "VERSION", parsers.client_tls_version),
    Option("mutual-tls-auth", "ROUTER_MUTUAL_TLS_AUTH", "none", TLS,
           "Client certificates: none, optional or required.",
           "none|optional|required", parsers.choice("none", "optional", "required")),
    Option("mutual-tls-auth-ca", "ROUTER_MUTUAL_TLS_AUTH_CA", "", TLS,
           "PEM file with the authorities for client certificates; without it, the public ones that the "
           "BIG-IP knows.", "FILE"),
    Option("mutual-tls-auth-crl", "ROUTER_MUTUAL_TLS_AUTH_CRL", "", TLS,
           "PEM file with lists of revoked client certificates.", "FILE"),
    Option("mutual-tls-auth-filter", "ROUTER_MUTUAL_TLS_AUTH_FILTER", "", TLS,
           "Regular expression that must match a part of the subject of a client certificate, such as "
           "/CN=a/O=b; other clients get 403.", "REGEX", parsers.regular_expression),
)

"""Settings of HTTP and TLS between the clients and the BIG-IP, rows of the table in options.py.

Source: openshift/router, images/router/haproxy/conf/haproxy-config.template.

Source of names and defaults: openshift/router, pkg/cmd/infra/router/template.go: TemplateRouter.Bind.
"""

from f5router.admission import route_options
from f5router.config import option, parsers
from f5router.config.option import HTTP, TLS, Option, boolean
from f5router.model import http_edge

HTTP_OPTIONS = (
    boolean("enable-compression", "ROUTER_ENABLE_COMPRESSION", "false", HTTP,
            "Compress responses of the types in --compression-mime, by an HTTP compression profile on "
            "virtual servers that have none."),
    Option("compression-mime", "ROUTER_COMPRESSION_MIME", "text/html text/plain text/css", HTTP,
           "Prefixes of the content types to compress, separated by blanks.",
           "TYPES", option.content_types),
    Option("errorfile-503", "ROUTER_ERRORFILE_503", "", HTTP,
           "File with a raw HTTP response that replaces the page with status 503.", "FILE"),
    Option("errorfile-404", "ROUTER_ERRORFILE_404", "", HTTP,
           "File with a raw HTTP response for requests that no Route matches; builtin for a small page with "
           "status 404, none for the page with status 503. Default: builtin where the router creates the "
           "virtual servers and serves Ingresses alone, else none.", "FILE"),
    Option("hsts-header", "ROUTER_HSTS_HEADER", "", HTTP,
           "Strict-Transport-Security of responses over TLS where neither the Route nor the pod sets it. "
           "Default: none.", "TEXT", route_options.parse_hsts),
    boolean("disable-cookies", "ROUTER_DISABLE_COOKIES", "false", HTTP,
            "Keep no client with a pod by a session cookie, except for Routes that name one, and "
            "Ingresses and IngressRoutes that ask for one."),
    boolean("use-proxy-protocol", "ROUTER_USE_PROXY_PROTOCOL", "false", HTTP,
            "Require a header of the PROXY protocol, in which a load balancer in front names the client."),
    Option("unique-id-header-name", "ROUTER_UNIQUE_ID_HEADER_NAME", "", HTTP,
           "Name of a header that gives each request to a pod an ID. Default: no such header.", "NAME",
           http_edge.parse_id_header),
    Option("unique-id-format", "ROUTER_UNIQUE_ID_FORMAT", http_edge.DEFAULT_ID_FORMAT, HTTP,
           "Format of the IDs of --unique-id-header-name, as in HAProxy's configuration: in quotes, or "
           "with blanks escaped.",
           "FORMAT", http_edge.parse_id_format),
)

TLS_OPTIONS = (
    Option("default-certificate", "DEFAULT_CERTIFICATE", "", TLS,
           "PEM certificate, chain and private key for clients whose server name no Route has a "
           "certificate for. Takes precedence over the file and the directory below. As a flag, the key is "
           "visible in the process list.",
           "PEM", secret=True),
    Option("default-certificate-path", "DEFAULT_CERTIFICATE_PATH", "", TLS,
           "File with the default certificate, read again when it changes. Takes precedence over "
           "--default-certificate-dir.", "FILE"),
    Option("default-certificate-dir", "DEFAULT_CERTIFICATE_DIR", "", TLS,
           "Directory with the default certificate in tls.crt and, if that holds no key, its key in "
           "tls.key.", "DIRECTORY"),
    boolean("strict-sni", "ROUTER_STRICT_SNI", "false", TLS,
            "Refuse clients whose server name matches no certificate. Needs a default certificate."),
    Option("ciphers", "ROUTER_CIPHERS", "", TLS,
           "Cipher suites up to TLS 1.2: modern, intermediate, old, or an OpenSSL list. Default: "
           "intermediate on virtual servers that the router creates, else the parent profile's.", "NAME:..."),
    Option("ciphersuites", "ROUTER_CIPHERSUITES", "", TLS,
           "Cipher suites of TLS 1.3, together with --ciphers. Default: all.", "NAME:..."),
    Option("ssl-min-version", "SSL_MIN_VERSION", "", TLS,
           "Minimum TLS version for clients: SSLv3, TLSv1.0, TLSv1.1, TLSv1.2 or TLSv1.3. Default: the "
           "parent profile's, unless --ssl-max-version is set.", "VERSION", parsers.client_tls_version),
    Option("ssl-max-version", "SSL_MAX_VERSION", "", TLS,
           "Maximum TLS version for clients. Default: TLSv1.3.", "VERSION", parsers.client_tls_version),
    Option("mutual-tls-auth", "ROUTER_MUTUAL_TLS_AUTH", "none", TLS,
           "Client certificates: none, optional or required.",
           "none|optional|required", parsers.choice("none", "optional", "required")),
    Option("mutual-tls-auth-ca", "ROUTER_MUTUAL_TLS_AUTH_CA", "", TLS,
           "PEM file of CAs for client certificates. Default: the public CAs that the BIG-IP knows.", "FILE"),
    Option("mutual-tls-auth-crl", "ROUTER_MUTUAL_TLS_AUTH_CRL", "", TLS,
           "PEM file of certificate revocation lists for client certificates.", "FILE"),
    Option("mutual-tls-auth-filter", "ROUTER_MUTUAL_TLS_AUTH_FILTER", "", TLS,
           "Regular expression that must match a part of a client certificate's subject, such as "
           "/CN=a/O=b. Other clients get 403.", "REGEX", parsers.regular_expression),
)

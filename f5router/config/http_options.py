"""Settings of HTTP between the clients and the BIG-IP, rows of the table in options.py.

Source: openshift/router, images/router/haproxy/conf/haproxy-config.template.
"""

from f5router.config import content_types
from f5router.config.option import HTTP, Option, boolean
from f5router.model import http_edge

OPTIONS = (
    boolean("enable-compression", "ROUTER_ENABLE_COMPRESSION", "false", HTTP,
            "Compress responses of the types in --compression-mime, by an HTTP compression profile on "
            "virtual servers that have none."),
    Option("compression-mime", "ROUTER_COMPRESSION_MIME", "text/html text/plain text/css", HTTP,
           "Prefixes of the content types to compress, separated by blanks.",
           "TYPES", content_types.parse),
    Option("errorfile-503", "ROUTER_ERRORFILE_503", "", HTTP,
           "File with a raw HTTP response that replaces the page with status 503.", "FILE"),
    Option("errorfile-404", "ROUTER_ERRORFILE_404", "", HTTP,
           "File with a raw HTTP response for requests that no Route matches. Default: the page with "
           "status 503.", "FILE"),
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

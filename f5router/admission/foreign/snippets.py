"""Configuration that an annotation adds as text: harmless, or perhaps a protection.

Only directives that are known not to keep anybody out, and not to change what a pod trusts, are harmless.
Sources: nginx.org, alphabetical index of directives; HAProxy, configuration manual, keywords of a backend.
"""

import re

LONGEST = 4096
"""Characters of a text that is looked at; a longer one counts as a protection."""

_NGINX = re.compile(
    r"(?:add_header|add_trailer|more_set_headers|more_clear_headers|expires|etag|charset\w*|default_type|"
    r"gzip\w*|brotli\w*|access_log|error_log|log_\w+|sub_filter\w*|proxy_hide_header|proxy_pass_header|"
    r"proxy_cookie_\w+|proxy_buffer\w*|proxy_busy_buffers_size|proxy_max_temp_file_size|proxy_temp_\w+|"
    r"proxy_(?:connect|read|send)_timeout|proxy_request_buffering|proxy_http_version|proxy_redirect|"
    r"client_body_\w+|client_max_body_size|client_header_\w+|large_client_header_buffers|keepalive_\w+|"
    r"send_timeout|sendfile\w*|tcp_nodelay|tcp_nopush|chunked_transfer_encoding|output_buffers|"
    r"server_tokens|http2_\w+|types_\w+)\b")
_HAPROXY = re.compile(
    r"(?:http-response (?:set|add|del|replace)-(?:header|value)|compression |timeout |retries |balance |log |"
    r"option (?:http|forwardfor|tcp|log))")


_QUOTED = re.compile(r"""(?<![^\s;{}])(?:#[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""")
"""A comment or a quoted word of nginx, which begins where a word does (nginx, ngx_conf_read_token)."""


def restricts(text: str, *, haproxy: bool) -> bool:
    """True for a text that may keep clients away. Args: haproxy: it is HAProxy's, not nginx's."""
    if len(text) > LONGEST:
        return True
    if haproxy:
        lines = (line.partition("#")[0].strip() for line in text.splitlines())
        return any(line and not _HAPROXY.match(line) for line in lines)
    plain = _QUOTED.sub(lambda match: "" if match[0].startswith("#") else "_", text)
    statements = (statement.strip() for statement in plain.split(";"))
    return any(statement and ("{" in statement or not _NGINX.match(statement)) for statement in statements)

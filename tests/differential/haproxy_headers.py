"""Lines of HAProxy's configuration for headers, as OpenShift's router makes them."""

from collections.abc import Iterable, Mapping
from urllib.parse import unquote_plus


def action_lines(side: str, actions: Iterable[dict]) -> Iterable[str]:
    """Yield the lines of header actions. Args: side: request or response."""
    for item in actions:
        if item["action"]["type"] == "Delete":
            yield f"http-{side} del-header {item['name']}"
        else:
            value = item["action"]["set"]["value"].replace("'", "'\\''")
            yield f"http-{side} set-header {item['name']} '{value}'"


def setting_lines(variables: Mapping[str, str], side: str) -> list[str]:
    """Return the lines of ROUTER_HTTP_REQUEST_HEADERS or ROUTER_HTTP_RESPONSE_HEADERS."""
    text = variables.get(f"ROUTER_HTTP_{side.upper()}_HEADERS", "")
    items = [[unquote_plus(word) for word in item.split(":")] for item in text.split(",") if item]
    return [*action_lines(side, ({"name": name, "action": {"type": rest[-1], "set": {"value": rest[0]}}}
                                  for name, *rest in items))]


def unique_id_lines(variables: Mapping[str, str]) -> list[str]:
    """Return the lines for IDs of requests."""
    name, text = (variables.get(f"ROUTER_UNIQUE_ID_{word}") for word in ("HEADER_NAME", "FORMAT"))
    return [f"unique-id-format {text}", f"unique-id-header {name}"] if name and text else []


def forwarded_lines(policy: str, *, ipv6: bool) -> list[str]:
    """Return the lines that set the headers by which pods know the client. Args: ipv6: of all clients."""
    if policy == "never":
        return []
    address = '\\"[%[src]]\\"' if ipv6 else "%[src]"
    verb = "add-header" if policy == "append" else "set-header"
    lines = {
        "append": ["option forwardfor"], "if-none": ["option forwardfor if-none"],
        "replace": ["http-request set-header X-Forwarded-For %[src]"]}[policy]
    for name, value, condition in (
        ("X-Forwarded-Host", "%[req.hdr(host)]", ""), ("X-Forwarded-Port", "%[dst_port]", ""),
        ("X-Forwarded-Proto", "http", "!{ ssl_fc }"), ("X-Forwarded-Proto", "https", "{ ssl_fc }"),
        ("X-Forwarded-Proto-Version", "h2", "{ ssl_fc_alpn -i h2 }"),
        ("Forwarded", f"for={address};host=%[req.hdr(host)];proto=%[req.hdr(X-Forwarded-Proto)]", ""),
    ):
        absent = f"!{{ req.hdr({name}) -m found }}" if policy == "if-none" else ""
        conditions = " ".join(text for text in (condition, absent) if text)
        lines.append(f"http-request {verb} {name} {value}" + (f" if {conditions}" if conditions else ""))
    return lines

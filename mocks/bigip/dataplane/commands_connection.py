"""TMM commands on the connection itself: TCP, IP, SSL, and its end.

Source: bigip-behaviour.md B5; tmsh reference, ltm rule command TCP, SSL, IP, reject, drop.
"""

from __future__ import annotations

from mocks.bigip import names, selection, unit
from mocks.bigip.dataplane.connection import Script
from mocks.bigip.quirks import Quirk
from mocks.bigip.tmm import TclError, Unsupported

Result = bytes | str | int
CONTEXT = "Illegal argument. Can't execute in the current context."
"""TMM's error for a command in the wrong event (bigip-behaviour.md B5)."""
_COLLECTING = ("CLIENT_ACCEPTED", "CLIENT_DATA")
_SERVER_SIDE = frozenset((
    "SERVER_CONNECTED", "LB_SELECTED", "HTTP_REQUEST_SEND", "HTTP_REQUEST_RELEASE", "HTTP_RESPONSE"))


def text(argument: bytes) -> str:
    return argument.decode("latin-1")


def need(rules: Script, *events: str) -> None:
    """Raises: TclError: the command is not valid in this event."""
    if rules.state.event not in events:
        raise TclError(CONTEXT)


def number(argument: bytes) -> int:
    try:
        return int(argument)
    except ValueError:
        raise TclError(f'expected integer but got "{text(argument)}"') from None


# -- TCP -------------------------------------------------------------------------------------------


def tcp_collect(rules: Script, args: list[bytes]) -> Result:
    need(rules, *_COLLECTING)
    if len(args) > 1:
        raise Unsupported("TCP::collect with skip")
    rules.state.collect, rules.state.waits = number(args[0]) if args else 0, True
    return ""


def tcp_payload(rules: Script, args: list[bytes]) -> Result:
    need(rules, *_COLLECTING)
    payload = rules.state.payload
    match [text(arg) for arg in args]:
        case []:
            return bytes(payload)
        case ["length"]:
            return len(payload)
        case [size] if size.isdigit():
            return bytes(payload[: int(size)])
        case ["replace", at, size, _]:
            payload[int(at) : int(at) + int(size)] = args[3]
            return ""
        case words:
            raise Unsupported(f"TCP::payload {' '.join(words)}")


def tcp_release(rules: Script, args: list[bytes]) -> Result:
    """All that was collected goes on; fewer bytes are not known here."""
    need(rules, *_COLLECTING)
    if args:
        raise Unsupported("TCP::release with a length")
    rules.state.collect = None
    return len(rules.state.payload)


def tcp_close(rules: Script, args: list[bytes]) -> Result:
    rules.flow.wire.close()
    rules.state.ended = "TCP::close"
    return ""


def tcp_respond(rules: Script, args: list[bytes]) -> Result:
    rules.flow.wire.write(args[0])
    return ""


# -- addresses -------------------------------------------------------------------------------------


def client_addr(rules: Script, args: list[bytes]) -> Result:
    return rules.flow.client[0]


def client_port(rules: Script, args: list[bytes]) -> Result:
    return rules.flow.client[1]


def local_addr(rules: Script, args: list[bytes]) -> Result:
    return rules.flow.virtual.address


def local_port(rules: Script, args: list[bytes]) -> Result:
    return rules.flow.virtual.port


def server_addr(rules: Script, args: list[bytes]) -> Result:
    if rules.state.member is None:
        raise TclError(CONTEXT)
    return rules.state.member.address


def server_port(rules: Script, args: list[bytes]) -> Result:
    return rules.state.member.port if rules.state.member else 0


def hostname(rules: Script, args: list[bytes]) -> Result:
    """The result of `info hostname`."""
    return unit.HOSTNAME


def cmp_unit(rules: Script, args: list[bytes]) -> Result:
    """The number of the TMM, from 0 (clouddocs, TMM::cmp_unit)."""
    return 0


def _side(rules: Script) -> str:
    """That of the command: clientside or serverside."""
    event = rules.state.event
    of_event = "serverside" if event in _SERVER_SIDE and event != "LB_SELECTED" else "clientside"
    return rules.state.side or of_event


def side(rules: Script, args: list[bytes]) -> Result:
    """Choose a side for the commands that follow; returns the one before."""
    before = _side(rules)
    if args:
        rules.state.side = text(args[0])
    return before


def idle_timeout(rules: Script, args: list[bytes]) -> Result:
    """The idle time-out of a side in seconds, or a new one (clouddocs, IP::idle_timeout)."""
    flow = rules.flow
    holder = flow if _side(rules) == "clientside" else flow.server_now
    if holder is None:
        raise TclError(CONTEXT)
    if args:
        holder.idle_s = number(args[0])
        return ""
    own = flow.virtual.idle_s if holder is flow else flow.virtual.server_idle_s
    return int(own if holder.idle_s is None else holder.idle_s)


def virtual(rules: Script, args: list[bytes]) -> Result:
    if [text(arg) for arg in args] not in ([], ["name"]):
        raise Unsupported(f"virtual {' '.join(map(text, args))}")
    path = rules.flow.virtual.path
    return path.rsplit("/", 1)[1] if rules.flow.shared.store.has(Quirk.BARE_NAMES) else path


# -- SSL -------------------------------------------------------------------------------------------


def ssl_disable(rules: Script, args: list[bytes]) -> Result:
    return _switch(rules, args, off=True)


def ssl_enable(rules: Script, args: list[bytes]) -> Result:
    return _switch(rules, args, off=False)


def _switch(rules: Script, args: list[bytes], *, off: bool) -> Result:
    """Without a side: that of the event. Fails without such a profile on the virtual server."""
    side = text(args[0]) if args else "serverside" if rules.state.event in _SERVER_SIDE else "clientside"
    if side not in ("clientside", "serverside"):
        raise TclError(f'bad option "{side}": must be clientside or serverside')
    virtual = rules.flow.virtual
    there = virtual.ends_tls if side == "clientside" else rules.flow.server_ssl()
    if not there:
        raise TclError(CONTEXT)
    if side == "clientside":
        if rules.flow.tls is not None:
            raise TclError("SSL::disable after the handshake")
        rules.state.client_ssl_off = off
    else:
        rules.state.server_ssl_off = off
    return ""


def ssl_profile(rules: Script, args: list[bytes]) -> Result:
    """Choose the profile of the server side, before its handshake (bigip-behaviour.md B5)."""
    if rules.state.event not in ("SERVER_CONNECTED", "LB_SELECTED"):
        raise Unsupported(f"SSL::profile in {rules.state.event}")
    if not rules.flow.server_ssl():
        raise TclError(CONTEXT)
    path = names.full_path(text(args[0]), rules.folder) if args and args[0] else ""
    store = rules.flow.shared.store
    if not path or store.get("ltm/profile/server-ssl", path) is None:
        raise TclError(f'profile "{path}" not found')
    rules.state.server_profile = path
    return ""


def ssl_extensions(rules: Script, args: list[bytes]) -> Result:
    need(rules, "CLIENTSSL_CLIENTHELLO", "CLIENTSSL_HANDSHAKE")
    extensions = rules.state.hello.extensions
    match [text(arg) for arg in args]:
        case ["exists", "-type", kind]:
            return int(int(kind) in extensions)
        case ["-type", kind]:
            data = extensions.get(int(kind))
            return b"" if data is None else int(kind).to_bytes(2, "big") + len(data).to_bytes(2, "big") + data
        case ["count"]:
            return len(extensions)
        case words:
            raise Unsupported(f"SSL::extensions {' '.join(words)}")


def ssl_sni(rules: Script, args: list[bytes]) -> Result:
    fields = {}
    if rules.flow.client_ssl:
        fields = selection.profile_fields(rules.flow.shared.store, rules.flow.client_ssl)
    match [text(arg) for arg in args]:
        case ["name"]:
            return rules.flow.sni or ""
        case ["required"]:
            return int(fields.get("sniRequire") == "true")
        case words:
            raise Unsupported(f"SSL::sni {' '.join(words)}")


def ssl_cipher(rules: Script, args: list[bytes]) -> Result:
    if rules.flow.tls is None:
        raise TclError(CONTEXT)
    name, version, bits = rules.flow.tls.object.cipher()
    return {"name": name, "version": version, "bits": str(bits)}.get(text(args[0]) if args else "", "")


def ssl_cert(rules: Script, args: list[bytes]) -> Result:
    """The client's certificate in DER, and how many there are: the data plane knows no chain."""
    need(rules, "CLIENTSSL_HANDSHAKE", "CLIENTSSL_CLIENTCERT", "HTTP_REQUEST")
    if rules.flow.tls is None:
        raise TclError(CONTEXT)
    certificate = rules.flow.tls.object.getpeercert(binary_form=True)
    match [text(arg) for arg in args]:
        case ["count"]:
            return int(certificate is not None)
        case ["0"]:
            if certificate is None:
                raise TclError("no certificate")
            return certificate
        case words:
            raise Unsupported(f"SSL::cert {' '.join(words)}")


def ssl_verify_result(rules: Script, args: list[bytes]) -> Result:
    """0, X509_V_OK, or 20, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, with `request`.

    OpenSSL ends handshakes with certificates that are not valid otherwise.
    """
    if rules.flow.tls is None or args:
        raise TclError(CONTEXT)
    certificate, profile = rules.flow.tls.object.getpeercert(binary_form=True), rules.flow.client_ssl
    if certificate is None or profile is None:
        return 0
    with rules.flow.shared.store.lock:
        return 0 if rules.flow.shared.contexts.is_trusted(profile, certificate) else 20


# -- the end ---------------------------------------------------------------------------------------


def reject(rules: Script, args: list[bytes]) -> Result:
    rules.state.ended = "reject"
    return ""


def drop(rules: Script, args: list[bytes]) -> Result:
    """The device sends nothing at all; here the client sees a reset."""
    rules.state.ended = "drop"
    return ""


COMMANDS = {
    "TCP::collect": tcp_collect,
    "TCP::payload": tcp_payload,
    "TCP::release": tcp_release,
    "TCP::close": tcp_close,
    "TCP::respond": tcp_respond,
    "TCP::client_port": client_port,
    "TCP::local_port": local_port,
    "TCP::server_port": server_port,
    "TCP::remote_port": client_port,
    "IP::client_addr": client_addr,
    "IP::remote_addr": client_addr,
    "IP::local_addr": local_addr,
    "IP::server_addr": server_addr,
    "IP::idle_timeout": idle_timeout,
    "::tmm_side": side,
    "::tmm_hostname": hostname,
    "TMM::cmp_unit": cmp_unit,
    "client_addr": client_addr,
    "client_port": client_port,
    "virtual": virtual,
    "SSL::disable": ssl_disable,
    "SSL::enable": ssl_enable,
    "SSL::profile": ssl_profile,
    "SSL::extensions": ssl_extensions,
    "SSL::sni": ssl_sni,
    "SSL::cipher": ssl_cipher,
    "SSL::cert": ssl_cert,
    "SSL::verify_result": ssl_verify_result,
    "reject": reject,
    "drop": drop,
    "discard": drop,
}


"""Checks of each BIG-IP by itself: connection, login, role, version, licence, modules, clock, SSH."""

from collections.abc import Callable, Iterable, Iterator

from f5router.cli.doctor import fixes, report
from f5router.cli.doctor.report import OK, Check, failure, ok, skipped, warning
from f5router.config.config import Config
from f5router.icontrol import surroundings
from f5router.icontrol.settings import SSHSettings
from f5router.icontrol.unit import Unit
from f5router.model import tmos
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    HostKeyRefused,
    NotReady,
    Unreachable,
    Unsupported,
    Untrusted,
    UploadAuthFailed,
    UploadError,
)
from f5router.model.findings import LICENCE_ENDING, LICENCE_ENDS, LICENCE_EXPIRED, NOT_A_BIGIP

LOGIN = "login"
_AFTER_LOGIN = ("role", "version", "licence", "modules", "clock", "failover")


def area(unit: Unit) -> str:
    """Return the name of the area of a BIG-IP."""
    return f"BIG-IP {unit.name}"


def check(unit: Unit, config: Config, ssh: SSHSettings, now: Callable[[], float]) -> Iterator[Check]:
    """Check a BIG-IP. Args: now: the time of this machine, in seconds since the epoch."""
    where = area(unit)
    try:
        version = unit.client.version()
    except BigIPError as exc:
        yield from _unusable(where, unit, config, exc)
    else:
        yield from _connected(where, unit, config)
        yield ok(where, LOGIN, f"user {config.bigip.username}, {config.bigip.auth} authentication")
        yield from _role(where, unit, config, version)
        yield from _version(where, unit, version)
        yield from _licence(where, unit, config, now)
        yield from _modules(where, unit)
        yield from _clock(where, unit, now)
        yield from _failover(where, unit, config, version)
        if config.vxlan and len(config.hosts) > 1:
            yield _tunnels(where, unit)
    if config.cert_upload == "ssh":
        yield _ssh(where, ssh)


def is_any_usable(checks: Iterable[Check]) -> bool:
    """Return True if a login worked, so that more can be read."""
    return any((check.check, check.state) == (LOGIN, OK) for check in checks)


def _connected(where: str, unit: Unit, config: Config) -> Iterator[Check]:
    yield ok(where, "address", "it answers")
    if config.bigip.verify is False:
        yield warning(where, "TLS", "the certificate is not verified, so anybody may play the BIG-IP",
                      fixes.certificate(unit.name))
    else:
        yield ok(where, "TLS", "the certificate is trusted, and is for this address")


def _unusable(where: str, unit: Unit, config: Config, exc: BigIPError) -> Iterator[Check]:
    """Yield the checks that passed, and the failure that prevents the rest."""
    if isinstance(exc, Untrusted):
        yield ok(where, "address", "it answers")
        message, _, step = exc.text.rpartition(": ")
        yield failure(where, "TLS", message, fixes.certificate(unit.name, step))
    elif isinstance(exc, Unreachable):
        yield failure(where, "address", exc.text, fixes.no_address(unit.name))
    else:
        yield from _connected(where, unit, config)
        if other := _other_server(exc):
            yield failure(where, "version", other, fixes.of(NOT_A_BIGIP), NOT_A_BIGIP)
        elif isinstance(exc, AuthFailed):
            yield failure(where, LOGIN, *fixes.login(config.bigip.username, exc.text))
        else:
            yield failure(where, "ready", str(exc), fixes.RESTART)
    yield skipped(where, _AFTER_LOGIN, "they need a login that works")


def _other_server(exc: BigIPError) -> str:
    """Return what answers in place of iControl REST; "" if a BIG-IP may have answered.

    A reply of success that is none of iControl REST comes from another server: a BIG-IP that starts answers
    with an error (bigip-behaviour.md A6).
    """
    if isinstance(exc, Unsupported):
        return exc.text
    if isinstance(exc, NotReady) and 200 <= exc.status < 300:
        return f"another server answers there, not a BIG-IP: to {exc.path} with {exc.status}, and {exc.text}"
    return ""


def _role(where: str, unit: Unit, config: Config, version: tuple[int, ...]) -> Iterator[Check]:
    name, partition = config.bigip.username, config.partition
    try:
        access = surroundings.read_rights(unit.client, name)
    except BigIPError as exc:
        yield warning(where, "role", f"the role of user {name} cannot be read, as of one of a directory "
                                     f"server: {exc.text}", fixes.REMOTE_ROLE)
        return
    findings, fix = surroundings.evaluate_rights(name, partition, access), fixes.role(name, version)
    for text in findings.problems:
        yield failure(where, "role", text.partition("; give it")[0], fix)
    for text in findings.warnings:
        yield warning(where, "role", text, fix)
    if findings == surroundings.NOTHING_WRONG:
        yield ok(where, "role", f"{surroundings.ADMIN} in partition {partition}")


def _version(where: str, unit: Unit, version: tuple[int, ...]) -> Iterator[Check]:
    yield ok(where, "version", f"TMOS {tmos.dotted(version)}")
    try:
        ready = unit.client.ready()
    except BigIPError as exc:
        yield failure(where, "ready", exc.text, fixes.RESTART)
    else:
        if not ready:
            yield failure(where, "ready", "the BIG-IP reports that its configuration is not loaded",
                          fixes.NOT_LOADED)


def _licence(where: str, unit: Unit, config: Config, now: Callable[[], float]) -> Iterator[Check]:
    try:
        licence = surroundings.read_licence(unit.client)
    except BigIPError as exc:
        yield warning(where, "licence", f"it cannot be read: {exc.text}", fixes.LICENCE_HIDDEN)
        return
    if not licence.exists:
        yield failure(where, "licence", "there is none", fixes.NO_LICENCE, LICENCE_EXPIRED)
        return
    today = surroundings.text_of_day(now())
    if licence.ends is not None and licence.ends < today:
        yield failure(where, "licence", f"it ended on {licence.ends}", fixes.RENEWAL, LICENCE_EXPIRED)
    elif licence.ends is not None and licence.ends - today <= LICENCE_ENDING:
        yield warning(where, "licence", f"it ends on {licence.ends}", fixes.RENEWAL, LICENCE_ENDS)
    else:
        yield ok(where, "licence", f"until {licence.ends}" if licence.ends else "without an end")
    if config.vxlan and licence.has_sdn is False:
        yield failure(where, "licence",
                      f"{surroundings.SDN_SERVICES} is not in it, so the BIG-IP cannot join "
                                        "the cluster network", fixes.NO_SDN)


def _modules(where: str, unit: Unit) -> Iterator[Check]:
    try:
        level = surroundings.provisioned_level(unit.client, "ltm")
    except BigIPError as exc:
        yield warning(where, "modules", f"they cannot be read: {exc.text}", fixes.MODULES_HIDDEN)
        return
    if level in ("", "none"):
        yield failure(where, "modules", "LTM is not provisioned", fixes.NO_LTM)
    else:
        yield ok(where, "modules", f"LTM is provisioned, level {level}")


def _clock(where: str, unit: Unit, now: Callable[[], float]) -> Iterator[Check]:
    begin = now()
    try:
        time = surroundings.read_time(unit.client)
    except BigIPError as exc:
        yield warning(where, "clock", f"it cannot be read: {exc.text}", fixes.CLOCK_HIDDEN)
        return
    if time is None:
        yield warning(where, "clock", "it is shown in an unknown form", fixes.CLOCK_HIDDEN)
    else:
        yield report.compare_clocks(where, "the BIG-IP", time.timestamp(), begin, now(), fixes.CLOCK)


def _failover(where: str, unit: Unit, config: Config, version: tuple[int, ...]) -> Iterator[Check]:
    """Check if the unit may be written to; of a pair, one has to be a standby."""
    try:
        state = unit.failover.check()
    except BigIPError as exc:
        yield failure(where, "failover", exc.text, fixes.FAILOVER_HIDDEN)
        return
    remarks, alone = unit.failover.remarks(), len(config.hosts) == 1
    fix = fixes.failover(state.status, config.bigip.username, version)
    for text in remarks:
        if not state.status:
            yield warning(where, "failover", text, fix)
        elif alone:
            yield failure(where, "failover", text, fix)
    if not remarks or (state.status and not alone):
        yield ok(where, "failover", f"the unit is {state.status}")


def _tunnels(where: str, unit: Unit) -> Check:
    """Check that the unit's tunnel, which has its own address, does not replace the other units' tunnels."""
    try:
        copied = surroundings.copies_tunnels(unit.client)
    except BigIPError as exc:
        return warning(where, "tunnels", f"iptunnel.configsync cannot be read: {exc.text}",
                       fixes.TUNNELS_HIDDEN)
    if copied:
        return warning(where, "tunnels", "config sync copies them, so that after it the other units have a "
                                         "tunnel with this unit's address", fixes.TUNNELS)
    return ok(where, "tunnels", "config sync leaves them out")


def _ssh(where: str, settings: SSHSettings) -> Check:
    """Connect and log in as an upload does; nothing is written."""
    from f5router.icontrol.uploads import ssh  # not before it is needed: 8 MB, 0.1 s

    server = f"{settings.host}:{settings.port}"
    try:
        ssh.connect(settings).close()
    except HostKeyRefused as exc:
        return failure(where, "SSH", exc.text, fixes.HOST_KEY)
    except UploadAuthFailed as exc:
        return failure(where, "SSH", exc.text, fixes.ssh_login(settings))
    except UploadError as exc:
        return failure(where, "SSH", exc.text, fixes.no_ssh(settings))
    if settings.insecure_host_key:
        return warning(where, "SSH", f"user {settings.username} logs in to {server}, whose host key is not "
                                     "verified", fixes.ssh_keys(settings))
    return ok(where, "SSH", f"user {settings.username} logs in to {server}, whose host key is known")

"""Names of the objects that each front end has for itself: all that is attached to its virtual servers.

The front end without a name has the names of the module `names`. Those of any other end in its name, behind
two underscores: no other name of these kinds has two. Pools and monitors, certificate and key files, server
SSL profiles towards pods, lists of addresses and, unless a front end asks clients for certificates by itself,
the parents of the Hosts' client SSL profiles are shared.
"""

from typing import Protocol

PATTERN = r"(?:__[a-z0-9][a-z0-9.-]*)?"
"""Pattern of what follows a name of the module `names`."""


class FrontEndPlace(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

    @property
    def front_end(self) -> str:
        """Name of the front end; "" for the one whose objects have the names of the module `names`."""


def named(name: str, front_end: str) -> str:
    """Return the name of a front end's object. Args: name: that of the object without a front end's name."""
    return f"{name}__{front_end}" if front_end else name


def own_path(config: FrontEndPlace, name: str) -> str:
    """Return the full path of a front end's object. Args: name: as of `named`."""
    return f"{config.folder}/{named(name, config.front_end)}"


def front_end_of(path: str) -> str:
    """Return the front end whose object has a full path, or a name."""
    return path.rpartition("/")[2].partition("__")[2]


def base_name(path: str) -> str:
    """Return the name that an object with a full path would have without the name of its front end."""
    return path.rpartition("/")[2].partition("__")[0]


def beside(path: str, name: str) -> str:
    """Return the full path of another object of the same front end. Args: name: as of `named`."""
    return f"{path.rpartition('/')[0]}/{named(name, front_end_of(path))}"


def front_end_of_server(virtual: str) -> str:
    """Return the front end of a virtual server, of its first address or of a further one."""
    return front_end_of(virtual).partition("_")[0]


TCP_SERVER = "openshift_tcp"
"""Name of a virtual server that carries TCP of any kind, without that of its front end."""


def carries_tcp(virtual: str) -> bool:
    """True for the full path of a virtual server of a Gateway that carries TCP of any kind."""
    return base_name(virtual) == TCP_SERVER and is_of_gateway(front_end_of(virtual))


def is_of_gateway(front_end: str) -> bool:
    """True for the name of a front end of a Gateway; those of the settings have no dot.

    See sources.gateway.listeners.front_end_name.
    """
    return "." in front_end

"""One BIG-IP: its connections, and the writers that use them.

A series of requests that began on one unit of a pair ends there: nothing of this is shared between units.
"""

import threading
from collections.abc import Callable

from f5router.icontrol.dispatcher import Dispatcher
from f5router.icontrol.failover import Failover
from f5router.icontrol.generations import Replies
from f5router.icontrol.own_addresses import PeerAddresses
from f5router.icontrol.own_servers import NONE as NO_SERVERS
from f5router.icontrol.own_servers import OwnServers
from f5router.icontrol.rest import readiness
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.readiness import Blame
from f5router.icontrol.sender import Sender
from f5router.icontrol.writers import objects
from f5router.icontrol.writers.attachments import AttachmentWriter
from f5router.icontrol.writers.files import FileWriter
from f5router.icontrol.writers.ltm_nodes import NodeWriter
from f5router.icontrol.writers.objects import KnownDescriptions, ObjectWriter, StaticRouteWriter
from f5router.icontrol.writers.policies import PolicyWriter
from f5router.icontrol.writers.records import RecordWriter
from f5router.icontrol.writers.tunnels import FDBWriter, TunnelWriter
from f5router.icontrol.writers.virtual_servers import VirtualServerWriter
from f5router.model.errors import Stopped
from f5router.model.ltm import BigIPState
from f5router.model.ownership import Describe


class Unit:
    """A BIG-IP that may be written to while it is active."""

    def __init__(self, name: str, client: Client, files: FileWriter, failover: Failover, *, folder: str,
                 number: int = 0, node_partition: str | None = None,
                 max_in_flight: int = 4, describe: Describe = lambda obj: "",
                 own_servers: OwnServers = NO_SERVERS):
        """Args:
        name: its management address, for messages.
        number: its place among the units of the settings, from 0.
        describe: writes the description of an object.
        own_servers: virtual servers that the router creates.
        """
        self.name, self.client, self.files, self.failover = name, client, files, failover
        self.number = number
        self.dispatcher, self.replies = Dispatcher(max_in_flight, client.slots), Replies()
        self.is_enough = False
        """True to end a long series of writes early: what it has written counts. The loop sets it."""
        self.addresses = PeerAddresses(name, client)
        """Those of the unit; read in a pair only."""
        self._given_up = threading.Event()
        self.sender = Sender(Blame(lambda: client.get_once(readiness.VERSION)), self._checkpoint)
        self.nodes = NodeWriter(client, own="/" + folder.split("/")[1], shared=node_partition)
        self.attachments = AttachmentWriter(client, folder)
        self.virtual_servers = VirtualServerWriter(client, folder, describe, own_servers)
        self.observed: Callable[[], BigIPState] = dict
        """Returns our objects that are on the device."""
        fdb, described = FDBWriter(client), KnownDescriptions(describe)
        self.policies = PolicyWriter(
            client, checkpoint=self._checkpoint,
            enough=lambda: self.is_enough, attempt=self.sender.attempt_in_order,
            obstacle=self.sender.obstacle,
            contents=lambda path: objects.known_policy(self.observed(), folder, path), describe=described,
            on_opened=self.replies.opened)
        self.sender.register(
            files, TunnelWriter(client, folder, described), fdb,
            StaticRouteWriter(client, folder, described),
            ObjectWriter(client, self.nodes, described),
            RecordWriter(client, lambda group: objects.known_records(self.observed(), group)), self.policies,
            self.attachments, self.virtual_servers)
        self.observers = (described, self.nodes, self.attachments, self.virtual_servers, fdb, self.policies,
                          failover)
        """Parts that adapt to each Observation."""

    def close(self) -> None:
        """Stop the writers' threads."""
        self.dispatcher.close()
        self.files.close()

    def give_up(self) -> None:
        """End the Plan that is being carried out at its next write. From any thread."""
        self._given_up.set()
        self.client.give_up()

    def _checkpoint(self) -> None:
        if self._given_up.is_set():
            raise Stopped(text="the router is stopping")
        self.failover.require_active()

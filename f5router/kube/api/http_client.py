"""Clients of the API server that verify its certificate equally under every version of Python.

Since Python 3.13, urllib3 sets VERIFY_X509_STRICT. It refuses certificates without key identifiers or key
usage, as the authorities of many clusters have them. Sources: kubernetes-client/python, issue 2394;
canonical/microk8s, pull request 5537. Signatures, dates and names are checked as ever.
"""

from typing import Any

from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs


class _Pool(HTTPSConnectionPool):
    """Connections with the same TLS settings, read once: urllib3 does so for each connection."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.ca_certs:  # else the public ones, which urllib3 loads into a context of its own
            context = create_urllib3_context(cert_reqs=resolve_cert_reqs(self.cert_reqs), verify_flags=0)
            context.load_verify_locations(self.ca_certs)
            if self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file)
            self.conn_kw["ssl_context"] = context
            self.cert_file = self.key_file = None
            if self.proxy is None:  # else its certificate is verified, too
                self.ca_certs = None


def http_client(configuration: Configuration) -> RESTClientObject:
    """Return a client with connections of its own."""
    client = RESTClientObject(configuration)
    client.pool_manager.pool_classes_by_scheme = {"http": HTTPConnectionPool, "https": _Pool}
    return client

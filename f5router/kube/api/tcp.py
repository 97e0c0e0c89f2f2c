"""TCP connections to the API server."""

import socket

import urllib3

KEEPALIVE = (
    *urllib3.connection.HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    # A firewall that drops an idle watch is noticed after 30 + 3 * 10 s.
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)

POOL_SIZE = 16
"""Idle connections kept: for a watch per kind and the writers."""

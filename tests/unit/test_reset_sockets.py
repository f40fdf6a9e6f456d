"""A server that ends between connection and handshake leaves no socket of ours open."""

import gc
import socket
import ssl
import warnings

import pytest


def test_a_reset_before_the_handshake_closes_the_socket() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        connected = socket.create_connection(server.getsockname())
    # The server has ended, its response to the connection was a reset.
    with warnings.catch_warnings(record=True) as said, connected:
        warnings.simplefilter("always")
        with pytest.raises(ConnectionResetError):
            ssl.create_default_context().wrap_socket(connected, server_hostname="127.0.0.1")
        gc.collect(1)
    assert [str(warning.message) for warning in said] == []

import socket
import threading

import pytest

from gpufleet_sandbox import ports


@pytest.fixture
def taken():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_every_name_gets_its_own_port() -> None:
    names = [f"port-{number}" for number in range(50)]
    chosen = ports.choose(names, {}, set())
    assert len(set(chosen.values())) == 50
    assert all(ports.is_free(port) for port in chosen.values())


def test_a_recorded_port_that_is_free_is_kept() -> None:
    first = ports.choose(["a", "b"], {}, set())
    assert ports.choose(["a", "b"], first, set()) == first


def test_a_recorded_port_that_is_taken_is_replaced(taken: int) -> None:
    assert not ports.is_free(taken)
    assert ports.listens(taken)
    assert ports.choose(["a"], {"a": taken}, set())["a"] != taken


def test_a_recorded_port_that_its_killed_process_still_closes_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ports, "_FREED_WITHIN_SECONDS", 60.0)  # the closing may be late
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    port = server.getsockname()[1]
    closing = threading.Timer(0.2, server.close)
    closing.start()
    assert ports.choose(["a"], {"a": port}, set()) == {"a": port}
    closing.join()


def test_a_port_its_own_process_holds_is_kept(taken: int) -> None:
    assert ports.choose(["a"], {"a": taken}, {"a"}) == {"a": taken}


def test_a_port_recorded_twice_is_given_once() -> None:
    port = ports.choose(["a"], {}, set())["a"]
    chosen = ports.choose(["a", "b"], {"a": port, "b": port}, set())
    assert chosen["a"] == port
    assert chosen["b"] != port


def test_nothing_listens_on_a_free_port() -> None:
    assert not ports.listens(ports.choose(["a"], {}, set())["a"])

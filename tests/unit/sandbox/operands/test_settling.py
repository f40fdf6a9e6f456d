import threading

import pytest

from gpufleet_sandbox.operands import settling
from gpufleet_sandbox.operands.api import ApiError
from gpufleet_sandbox.operands.settling import Settling


def test_what_the_server_refused_is_written_once_it_lets_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settling, "RETRY_SECONDS", 0.01)
    refusals = [ApiError(500, "etcdserver: leader changed"), ConnectionError("reset")]
    done = threading.Event()

    def settle() -> None:
        if refusals:
            raise refusals.pop(0)
        done.set()

    Settling("policy", settle).changed()

    assert done.wait(60)
    assert "etcdserver: leader changed; trying again" in capsys.readouterr().out


def test_changes_meanwhile_make_no_second_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[object] = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, again: object) -> None:
            timers.append(again)

        def start(self) -> None:
            """Never due."""

    monkeypatch.setattr(settling.threading, "Timer", Timer)

    def settle() -> None:
        raise ApiError(500, "no")

    one = Settling("policy", settle)
    for _ in range(3):
        one.changed()
    assert len(timers) == 1


def test_a_mistake_of_ours_is_not_tried_again() -> None:
    def settle() -> None:
        raise KeyError("state")

    with pytest.raises(KeyError):
        Settling("policy", settle).changed()

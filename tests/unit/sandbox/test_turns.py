import threading
from pathlib import Path

import pytest

from gpufleet_sandbox import SandboxError, turns


def test_the_second_command_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    order: list[str] = []
    inside, release = threading.Event(), threading.Event()

    def first() -> None:
        with turns.turn(tmp_path / "lock", "deploys into /s", order.append):
            inside.set()
            release.wait(10)
            order.append("first ends")

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)

    def told(text: str) -> None:
        order.append(text)
        release.set()

    with turns.turn(tmp_path / "lock", "deploys into /s", told):
        order.append("second begins")
    thread.join(10)
    assert order == [
        "another command deploys into /s; waiting for it",
        "first ends",
        "second begins",
    ]


def test_waiting_ends_with_an_error_that_says_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.05)
    said: list[str] = []
    with (
        turns.turn(tmp_path / "lock", "works on /s", said.append),
        pytest.raises(SandboxError, match="another command works on /s, for 0 minutes by now"),
        turns.turn(tmp_path / "lock", "works on /s", said.append),
    ):
        pytest.fail("two commands at once")

"""A waiting user sees progress; a quick command prints nothing."""

import io
import time

import pytest

from gpufleet.cli import at_work as module
from gpufleet.cli.at_work import at_work, sign_of_life


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_is_shown_with_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_TERMINAL", 0.05)
    screen = Terminal()
    with sign_of_life("audit", screen):
        at_work("file 2 of 3")
        time.sleep(0.3)
    assert screen.getvalue().splitlines()[0] == "gpufleet audit: at work for 0 s, file 2 of 3"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_quick_work_is_silent(stream: io.StringIO) -> None:
    with sign_of_life("audit", stream):
        pass
    assert stream.getvalue() == ""

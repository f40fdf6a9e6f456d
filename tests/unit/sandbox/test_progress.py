import io
import time

import pytest

from gpufleet_sandbox import progress


def test_durations_read_well() -> None:
    assert progress.duration(0.4) == "0 s"
    assert progress.duration(59.6) == "1 min 0 s"
    assert progress.duration(217) == "3 min 37 s"


def test_plain_lines_say_start_estimate_and_end() -> None:
    stream = io.StringIO()
    task = progress.PlainProgress(stream).task("etcd", 24)
    task.detail("building from source")
    task.detail("compiling a/b")
    task.done("3.6.14 built")
    assert stream.getvalue().splitlines() == [
        "etcd: building from source (about 24 s)",
        "etcd: 3.6.14 built (0 s)",
    ]


def test_a_long_task_speaks_up_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    task = progress.PlainProgress(stream).task("etcd", 0)
    task.detail("begins")
    now = time.monotonic()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now + 31)
    task.detail("compiling a/b")
    task.detail("compiling c/d")
    task.failed("no")
    assert stream.getvalue().splitlines() == [
        "etcd: begins",
        "etcd: 31 s so far, compiling a/b",
        "etcd: FAILED: no",
    ]


def test_bars_run_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpufleet_sandbox import progress_bars

    stream = io.StringIO()
    console = progress_bars.Console(file=stream, force_terminal=True, width=200)
    monkeypatch.setattr(progress_bars, "Console", lambda stderr: console)
    with progress_bars.bars() as shown:
        task = shown.task("etcd", 10)
        task.detail("compiling [a]/b")
        shown.tick()
        shown.note("a [line] as it is")
        task.done("built")
        shown.task("kwok", 0).failed("no [reason]")
    text = stream.getvalue()
    assert "etcd: built (0 s)" in text
    assert "a [line] as it is" in text
    assert "no [reason]" in text


def test_bars_leave_standard_output_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gpufleet_sandbox import progress_bars

    stream = io.StringIO()
    console = progress_bars.Console(file=stream, force_terminal=True, width=200)
    monkeypatch.setattr(progress_bars, "Console", lambda stderr: console)
    with progress_bars.bars() as shown:
        task = shown.task("etcd", 10)
        print("{}")
        task.done("built")
        print("[]")
        shown.task("kwok", 10).done("built")
    assert capsys.readouterr().out == "{}\n[]\n"
    assert "kwok: built" in stream.getvalue()

"""`pytest --forks N`: one process collects, and N copies of it run the files.

To import and collect all unit tests takes a quarter of the processor time of the tests of a commit,
and pytest-xdist does it in each of its processes. A copy takes the next file when it has run one:
the tests of a file share what they compute.
"""

import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

INDEX_BYTES = 2
TEMPORARY = "PYTEST_DEBUG_TEMPROOT"
"""pytest's variable for the folder of its temporary folders."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forks", type=int, default=0, metavar="N", help="run the files in N copies (Linux)"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run all tests in copies; None leaves it to pytest."""
    options = session.config.option
    if not options.forks or options.collectonly or session.testsfailed:
        return None
    files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
    folder = tempfile.mkdtemp(prefix="tests-")
    os.environ[TEMPORARY] = folder
    children: dict[Connection, int] = {}
    try:
        queue = _queue(len(files))
        for _ in range(options.forks):
            children |= _copy(session, files, queue)
        _report(session, children)
    finally:
        for child in children.values():
            os.kill(child, 9)  # one that has ended is not waited for yet
            os.waitpid(child, 0)
        del os.environ[TEMPORARY]
        if not session.testsfailed:
            shutil.rmtree(folder, ignore_errors=True)
    return True


def _queue(count: int) -> int:
    """Descriptor from which each copy reads the number of its next file, until there are none."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # more files than a pipe holds are an error, not a wait
    for number in range(count):
        os.write(writing, number.to_bytes(INDEX_BYTES, "big"))
    os.close(writing)
    return reading


def _copy(
    session: pytest.Session, files: Sequence[Sequence[pytest.Item]], queue: int
) -> dict[Connection, int]:
    """Start a copy: where its reports arrive, and its process id."""
    receiving, sending = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        sending.close()
        return {receiving: child}
    try:
        receiving.close()
        _run(session.config, _taken(files, queue), sending)
    except BaseException:  # noqa: BLE001 - also Ctrl-C: this process runs nothing more
        sending.send(traceback.format_exc())
    finally:
        os._exit(0)


def _taken(files: Sequence[Sequence[pytest.Item]], queue: int) -> Iterator[pytest.Item]:
    """The tests of the files that this copy takes."""
    while number := os.read(queue, INDEX_BYTES):
        yield from files[int.from_bytes(number, "big")]


def _run(config: pytest.Config, items: Iterator[pytest.Item], sending: Connection) -> None:
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Sender(config, sending))
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of all copies
    capture.start_global_capturing()
    capture.suspend_global_capture()
    for item, following in pairwise(chain(items, [None])):
        assert item is not None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    sending.send(None)


class _Sender:
    """Hands the reports of a copy to the process that collected."""

    def __init__(self, config: pytest.Config, sending: Connection) -> None:
        self._config, self._sending = config, sending

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook.pytest_report_to_serializable
        self._sending.send(hook(config=self._config, report=report))


def _report(session: pytest.Session, children: Mapping[Connection, int]) -> None:
    """Show reports until all copies have ended."""
    hook = session.config.hook
    left = set(children)
    while left:
        for one in wait(left):
            assert isinstance(one, Connection)
            try:
                sent = one.recv()
            except EOFError:
                raise RuntimeError("a process of the tests ended before its tests") from None
            if sent is None:
                left.remove(one)
            elif isinstance(sent, str):
                raise RuntimeError(f"a process of the tests failed:\n{sent}")
            else:
                found = hook.pytest_report_from_serializable(config=session.config, data=sent)
                hook.pytest_runtest_logreport(report=found)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

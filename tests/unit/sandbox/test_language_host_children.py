"""Children end with their parent, whichever way it ends, and their errors read well."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpufleet_sandbox.language_host import dependencies
from gpufleet_sandbox.language_host.children import ENTRY, PATIENCE, Children
from gpufleet_sandbox.language_host.interpreter import Interpreter, OptionError
from gpufleet_sandbox.language_host.lifeline import PARENT_GONE
from gpufleet_sandbox.language_host.program import program_traceback

HERE = Interpreter(sys.executable)


def script(folder: Path, text: str) -> list[str]:
    (folder / "script.py").write_text(text)
    return ["path", str(folder / "script.py")]


def test_a_child_sees_its_arguments_an_empty_input_and_none_of_our_modules(tmp_path: Path) -> None:
    text = "import sys; print(sys.argv[1:], repr(sys.stdin.read()), __name__, "
    text += "[p for p in sys.path if 'language_host' in p])"
    children = Children()
    child = children.start(
        HERE,
        [*script(tmp_path, text), "one", "two"],
        folder=str(tmp_path),
        variables=os.environ,
        capture=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    with child.stdout, child.stderr:
        assert child.stdout.read() == b"['one', 'two'] '' __main__ []\n"
    assert children.wait(child) == 0


def test_the_end_of_the_parent_ends_a_child_that_is_busy(tmp_path: Path) -> None:
    text = "print('up', flush=True)\nwhile True: pass"
    command = [sys.executable, "-u", ENTRY, *script(tmp_path, text)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"up\n"
        child.stdin.close()
        assert child.wait(timeout=60) == PARENT_GONE


def test_a_child_that_ignores_being_asked_is_killed_within_two_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    sleep = time.sleep

    def counted(seconds: float) -> None:
        waited.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", counted)
    text = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    text += "print('up', flush=True); time.sleep(60)"
    children = Children()
    child = children.start(
        HERE, script(tmp_path, text), folder=str(tmp_path), variables=os.environ, capture=True
    )
    assert child.stdout is not None
    assert child.stderr is not None
    with child.stdout, child.stderr:
        assert child.stdout.readline() == b"up\n"
        children.close(asked=False)
        # Its own waiting time, not wall-clock time: the machine may be busy.
        assert 0 < sum(waited) < 2 * PATIENCE + 0.05
        assert children.wait(child) == -signal.SIGKILL
    with pytest.raises(OSError, match="closing"):
        children.start(HERE, ["path", "x"], folder="", variables=os.environ)


def test_an_interrupted_plugin_leaves_no_traceback(tmp_path: Path) -> None:
    text = "import time; print('up', flush=True); time.sleep(60)"
    command = [sys.executable, "-u", ENTRY, *script(tmp_path, text)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"up\n"
        child.send_signal(signal.SIGINT)
        assert child.stderr.read() == b""
        assert child.wait(timeout=60) == 130


def test_a_traceback_begins_at_the_program(tmp_path: Path) -> None:
    entry = tmp_path / "__main__.py"
    entry.write_text("def fail():\n    {}['rack']\n")
    names: dict[str, object] = {}
    exec(compile(entry.read_text(), str(entry), "exec"), names)
    try:
        names["fail"]()  # pyright: ignore
    except KeyError as error:
        text = program_traceback(error, tmp_path)
    assert [line.strip() for line in text.splitlines()] == [
        "Traceback (most recent call last):",
        f'File "{entry}", line 2, in fail',
        "{}['rack']",
        "~~^^^^^^^^",
        "KeyError: 'rack'",
    ]


def test_an_error_outside_the_program_keeps_its_whole_traceback(tmp_path: Path) -> None:
    try:
        raise LookupError("elsewhere")
    except LookupError as error:
        text = program_traceback(error, tmp_path)
    assert "test_language_host_children.py" in text


def test_a_plugin_folder_is_run_by_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"neither a __main__\.py nor a pyproject\.toml"):
        dependencies.plugin_entry(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "racks"\n')
    assert dependencies.plugin_entry(tmp_path) == ["module", "pulumi.run.plugin", "racks"]
    (tmp_path / "__main__.py").touch()
    assert dependencies.plugin_entry(tmp_path) == ["path", str(tmp_path)]


def test_installed_distributions_are_listed_with_and_without_what_they_need() -> None:
    every = dict(dependencies.installed(HERE, transitive=True))
    top = dict(dependencies.installed(HERE, transitive=False))
    assert "grpcio" in every
    assert "grpcio" not in top, "pulumi requires it"
    assert top.items() <= every.items()


def test_nothing_is_installed_into_an_environment_that_is_not_the_projects(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("no-such-distribution\n")
    said = b"".join(dependencies.install({}, tmp_path, tmp_path))
    assert said == f"Using the packages installed for {sys.executable}\n".encode()

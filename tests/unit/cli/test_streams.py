"""The program under bad conditions: closed streams, full disks, closed readers, no HOME.

Each case is the program itself in a separate process, as in CI and cron.
"""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gpufleet.cli import main
from tests.examples import at_night

ROOT = Path(__file__).parents[3]
SPEC = ROOT / "stacks" / "Pulumi.sandbox-dev.yaml"
PROGRAM = f"{sys.executable} -m gpufleet.cli"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one line of shell; `gpufleet` in it is the program."""
    script = f'gpufleet() {{ {PROGRAM} "$@"; }}; {line}'
    tested = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(ROOT), **tested, **environment}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        env={name: value for name, value in variables.items() if value},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def in_this_process(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """Exit status of the program where its process does not matter."""
    monkeypatch.setattr(sys, "argv", ["gpufleet", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


@pytest.mark.parametrize(
    "command",
    [
        "partition --gpu A100-80GB --want -",
        *at_night(
            "compile -",
            "check - --as mig-parted",
            "explain -",
            "render - --out nowhere",
            "size -",
        ),
    ],
)
def test_closed_standard_input(command: str) -> None:
    done = shell(f"gpufleet {command} <&-")
    assert (done.returncode, done.stderr) == (2, "gpufleet: -: standard input is closed\n")


@pytest.mark.parametrize("command", ["schema --format json", *at_night(f"compile {SPEC}")])
def test_a_full_disk_is_one_sentence(command: str) -> None:
    done = shell(f"gpufleet {command} >/dev/full")
    assert done.returncode == 2
    assert done.stderr == "gpufleet: standard output: No space left on device\n"


@pytest.mark.parametrize("command", ["catalogue gpus", *at_night(f"compile {SPEC} --format json")])
def test_a_closed_standard_output_is_none(command: str) -> None:
    done = shell(f"gpufleet {command} >&-")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", ["catalogue prices", *at_night("schema --format json", "--help")]
)
def test_a_reader_that_leaves_is_no_traceback(command: str) -> None:
    done = shell(f"gpufleet {command} | true")
    assert done.returncode in (0, 1)  # 0: everything fitted into the pipe before it left
    assert done.stderr == ""


def test_no_home_no_locale_and_a_narrow_terminal() -> None:
    done = shell(f"gpufleet explain {SPEC}", HOME="", LC_ALL="C", COLUMNS="40")
    assert (done.returncode, done.stderr) == (0, "")
    assert "notebooks" in done.stdout


@pytest.mark.parametrize(("setting", "coloured"), [("1", False), ("", True)])
def test_no_color_is_obeyed_on_a_terminal(setting: str, coloured: bool) -> None:
    ours, theirs = pty.openpty()
    variables = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "NO_COLOR": setting}
    subprocess.run(
        [sys.executable, "-m", "gpufleet.cli", "policies", "explain", "gpu-idle-command"],
        env=variables,
        stdout=theirs,
        check=True,
        timeout=60,
    )
    os.close(theirs)
    text = os.read(ours, 4096)
    os.close(ours)
    assert (b"\x1b[" in text) is coloured


@pytest.mark.parametrize(
    ("prices", "code", "said"),
    [
        (".", 2, "gpufleet: .: this is a folder, and a file is needed"),
        ("/nowhere", 2, "gpufleet: /nowhere: No such file or directory"),
        (sys.executable, 1, "cannot be read"),
        ("/dev/null", 1, "[overlay-unreadable]"),
    ],
)
def test_prices_that_cannot_be_read(
    prices: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert in_this_process(monkeypatch, "compile", str(SPEC), "--prices", prices) == code
    assert said in capsys.readouterr().err


def test_a_count_of_thousands_of_digits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    want = f'{{"1g.5gb": {"9" * 5000}}}'
    assert in_this_process(monkeypatch, "partition", "--gpu", "L4", "--want", want) == 2
    said = capsys.readouterr().err
    assert said.startswith("gpufleet: --want: line 1: a value cannot be read: a number has")


def test_text_that_no_encoding_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--gpu", "A30", "--want", '{"\\ud800": 1}', "--format", "json")
    assert in_this_process(monkeypatch, "partition", *arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("gpufleet: --want: line 1, column 5: found invalid Unicode")


def test_a_profiler_writes_what_it_saw_of_an_audit(tmp_path: Path) -> None:
    """The program leaves at once after an audit, and never under what waits for its end."""
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    profile = tmp_path / "profile"
    arguments = ["-m", "cProfile", "-o", str(profile), "-m", "gpufleet.cli", "audit", str(tmp_path)]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert profile.stat().st_size > 0


def test_the_package_is_the_program() -> None:
    made = [
        subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, check=True)
        for module in ("gpufleet", "gpufleet.cli")
    ]
    assert made[0].stdout == made[1].stdout != b""


@pytest.mark.parametrize("arguments", [["compile", ""], ["render", "fleet.yaml", "--out", ""]])
def test_an_empty_argument_is_no_path(arguments: list[str], tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "gpufleet", *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert made.returncode == 2
    named = "an argument" if arguments == ["compile", ""] else "--out"
    assert f"{named} is empty" in made.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("compile nowhere --format json", "nowhere: No such file or directory"),
        ("compile nowhere --format=json", "nowhere: No such file or directory"),
        ("partition --want '' --format json", "--want is empty"),
        ("partition --format json", "Missing option '--gpu'"),
        ("nothing --format json", "no command 'nothing'"),
    ],
)
def test_a_run_that_cannot_begin_is_a_document_for_programs(command: str, says: str) -> None:
    done = shell(f"gpufleet {command}")
    found = json.loads(done.stdout)["error"]
    assert (done.returncode, found["exitStatus"]) == (2, 2)
    assert says in found["message"]
    assert says in done.stderr
    assert shell(f"gpufleet {command.replace('json', 'text')}").stdout == ""


def test_the_document_has_the_exit_status_of_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise click.ClickException("no")  # exit status 1, that of a UsageError is 2

    monkeypatch.setattr("gpufleet.cli._program.main", refuse)
    monkeypatch.setattr("gpufleet.cli.output._has_written", False)
    status = in_this_process(monkeypatch, "compile", "fleet.yaml", "--format", "json")
    error = {"exitStatus": 1, "message": "no"}
    assert (status, json.loads(capsys.readouterr().out)) == (1, {"error": error})


def test_there_is_one_document_where_the_run_ends_badly(tmp_path: Path) -> None:
    want = "--gpu A100-80GB --want 7g.80gb=1 --format json"
    done = shell(f"gpufleet partition {want} --svg {tmp_path}/no/such.svg")
    assert done.returncode == 2
    assert json.loads(done.stdout)["placeable"] is True
    none = shell("gpufleet audit /dev/null --format json")
    assert none.returncode == 2
    assert json.loads(none.stdout)["objects"] == 0

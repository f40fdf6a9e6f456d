import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet_sandbox import Sandbox, SandboxError, bootstrap
from gpufleet_sandbox.command import command
from gpufleet_sandbox.program_cache import CACHE_VARIABLE
from gpufleet_sandbox.status import NodeStatus, PodStatus, ProcessStatus, Status
from gpufleet_sandbox.status_tables import print_status


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


@pytest.mark.parametrize("name", ["up", "down", "status", "reset", "programs", "env"])
def test_every_command_teaches_and_has_a_format(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "--format [text|json]" in result.stdout
    assert len(result.stdout.splitlines()) > 8


def test_status_of_nothing_is_exit_1(tmp_path: Path) -> None:
    result = run("status", "--dir", str(tmp_path / "none"), "--format", "json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["running"] is False
    assert document["processes"] == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["down", "reset"])
def test_stopping_nothing_is_fine_and_makes_nothing(tmp_path: Path, name: str) -> None:
    result = run(name, "--dir", str(tmp_path / "none"), "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["running"] is False
    assert not (tmp_path / "none").exists()


def test_reset_never_touches_a_persons_own_folder(tmp_path: Path) -> None:
    for name in ("bin", "logs", "env"):
        (tmp_path / name).mkdir()
    assert run("reset", "--dir", str(tmp_path)).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "env", "logs"]


def test_an_error_is_one_text_and_exit_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Sandbox, **_: object) -> None:
        raise SandboxError("etcd: ended while starting")

    monkeypatch.setattr(Sandbox, "up", fail)
    result = run("up", "--dir", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr.strip() == "gpufleet: etcd: ended while starting"


def test_the_first_up_shows_the_fleet_and_then_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a built program, the drawing is something to read before the build, not the end."""

    def begin(self: Sandbox, **_: object) -> None:
        raise SandboxError("the build began")

    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(Sandbox, "up", begin)
    result = run("up", "--dir", str(tmp_path / "box"), "--deploy", "sandbox-dev")
    assert "one node offers: nvidia.com/gpu x 8" in result.stdout
    assert (result.exit_code, result.stderr) == (1, "gpufleet: the build began\n")


def test_a_reader_that_ended_is_not_an_error_of_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_pipe(self: Sandbox, **_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(Sandbox, "up", break_pipe)
    result = run("up", "--dir", str(tmp_path))
    assert (result.exit_code, result.stderr) == (1, "")


@pytest.mark.parametrize("written", ["bin/pulumi", None])
def test_a_full_disk_is_named_with_the_file_and_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str | None
) -> None:
    def fail(self: Sandbox, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "cache/pulumi", None, written)

    monkeypatch.setattr(Sandbox, "up", fail)
    result = run("up", "--dir", str(tmp_path / "s"))
    assert result.exit_code == 1
    assert result.stderr == (
        f"gpufleet: {written or 'cache/pulumi'}: No space left on device; free some, "
        "or name a folder elsewhere with --dir or GPUFLEET_CACHE\n"
    )


def test_ctrl_c_is_exit_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Sandbox, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Sandbox, "up", interrupt)
    result = run("up", "--dir", str(tmp_path))
    assert result.exit_code == 130
    assert "run it again to go on" in result.stderr


def test_env_prints_paths_and_no_secret(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / "passphrase").write_text("fake-passphrase")
    text = run("env", "--dir", str(tmp_path)).stdout
    assert f"export KUBECONFIG={tmp_path}/kubeconfig" in text
    assert "fake-passphrase" not in text
    document = json.loads(run("env", "--dir", str(tmp_path), "--format", "json").stdout)
    assert document["PATH"] == str(tmp_path / "bin")


def test_a_further_program_is_found_by_the_engine_of_a_sandbox_that_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = tmp_path / "cache" / "pulumi-language-yaml"
    host.parent.mkdir()
    host.write_text("#!/bin/sh\n")
    monkeypatch.setattr(bootstrap, "prepare", lambda names, progress: {names[0]: host})
    monkeypatch.setenv("GPUFLEET_SANDBOX", str(tmp_path / "s"))
    placed = tmp_path / "s" / "bin" / host.name
    assert run("programs", host.name).exit_code == 0
    assert not placed.exists(), "no sandbox, so none is made"
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / ".lock").touch()
    assert run("programs", host.name).exit_code == 0
    assert placed.read_text() == host.read_text()


def test_an_unknown_program_is_named() -> None:
    result = run("programs", "minikube")
    assert result.exit_code == 1
    assert "no such program: minikube" in result.stderr


def test_the_table_shows_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(
        Status(
            directory="/s",
            running=False,
            server="https://127.0.0.1:1",
            kubeconfig="/s/kubeconfig",
            processes=(
                ProcessStatus("etcd", True, 7, {"etcd-client": 4001}, 65, "/s/logs/etcd.log"),
                ProcessStatus("kwok", False, None, {}, None, "/s/logs/kwok.log"),
            ),
            nodes=(NodeStatus("n", True, "L4", {"nvidia.com/gpu.shared": "4"}, {}),),
            pods=(
                PodStatus("default", "a", "Running", "n", {}, None),
                PodStatus("default", "b", "Pending", None, {}, "0/1 nodes are available"),
            ),
            problem=None,
        )
    )
    text = capsys.readouterr().out
    for word in ("running in part", "1 min 5 s", "dead", "nvidia.com/gpu.shared: 4", "1 Running"):
        assert word in text
    assert "waiting: default/b: 0/1 nodes are available" in text

import json
from pathlib import Path

import pytest

from gpufleet_sandbox.state import ProcessRecord, SandboxState, write_atomically


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    state = SandboxState({"etcd-client": 1234}, {"etcd": ProcessRecord(7, 12.5, "abc")})
    state.save(path)
    assert SandboxState.load(path) == state
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_no_file_is_an_empty_state(tmp_path: Path) -> None:
    assert SandboxState.load(tmp_path / "state.json") == SandboxState()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"version": 1, "ports": [], "processes": {}}',
        '{"version": 1, "ports": {}, "processes": {"etcd": 5}}',
        '{"version": 1, "ports": {"a": "x"}, "processes": {}}',
        '{"version": 9, "ports": {}, "processes": {}}',
        "\x00\x00",
    ],
)
def test_a_damaged_file_is_reported_and_never_fatal(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    state = SandboxState.load(path)
    assert state.damaged
    assert state.ports == {}
    assert state.processes == {}


def test_bytes_that_are_no_text_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"\xff\xfe\x80")
    assert SandboxState.load(path).damaged


def test_damage_is_not_written_back(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    SandboxState(damaged="once").save(path)
    assert "damaged" not in json.loads(path.read_text())


def test_a_replaced_file_keeps_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "secret"
    write_atomically(path, "one")
    write_atomically(path, "two")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o077 == 0

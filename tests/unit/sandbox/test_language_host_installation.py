"""The two executables: what they run, and that they never replace the vendor's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpufleet_sandbox import language_host
from gpufleet_sandbox.language_host.installation import (
    DYNAMIC_PROVIDER,
    HOST,
    RESOURCE_PLUGIN,
    vendor_host,
)


@pytest.fixture
def only_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "only"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_the_executables_are_written_once(tmp_path: Path, only_path: Path) -> None:
    folder = tmp_path / "bin"
    language_host.install(folder, sys.executable)
    before = {file.name: file.stat().st_ino for file in folder.iterdir()}
    assert set(before) == {HOST, DYNAMIC_PROVIDER, RESOURCE_PLUGIN}
    assert all(os.access(folder / name, os.X_OK) for name in before)
    language_host.install(folder, sys.executable)
    assert {file.name: file.stat().st_ino for file in folder.iterdir()} == before


def test_another_interpreter_is_written_anew(tmp_path: Path, only_path: Path) -> None:
    language_host.install(tmp_path / "bin", "/opt/one python")
    language_host.install(tmp_path / "bin", "/opt/two python")
    assert "'/opt/two python' -u" in (tmp_path / "bin" / HOST).read_text()


def test_the_vendors_host_on_path_wins(tmp_path: Path, only_path: Path) -> None:
    write_program(only_path / HOST, "#!/bin/sh\n# the vendor's\n")
    assert vendor_host() == only_path / HOST
    language_host.install(tmp_path / "bin", sys.executable)
    assert not (tmp_path / "bin").exists()


def test_ours_on_path_is_not_taken_for_the_vendors(only_path: Path, tmp_path: Path) -> None:
    language_host.install(only_path, sys.executable)
    assert vendor_host() is None
    language_host.install(tmp_path / "bin", sys.executable)
    assert (tmp_path / "bin" / HOST).is_file()


def test_a_script_of_an_older_version_is_replaced(tmp_path: Path, only_path: Path) -> None:
    old = "#!/bin/sh\n# Written by gpufleet: stands in for the Pulumi program of this name.\n"
    write_program(tmp_path / "bin" / HOST, old)
    language_host.install(tmp_path / "bin", sys.executable)
    assert (tmp_path / "bin" / HOST).read_text() != old


def test_a_foreign_file_of_that_name_is_left_alone(tmp_path: Path, only_path: Path) -> None:
    write_program(tmp_path / "bin" / DYNAMIC_PROVIDER, "#!/bin/sh\n# mine\n")
    language_host.install(tmp_path / "bin", sys.executable)
    assert (tmp_path / "bin" / DYNAMIC_PROVIDER).read_text() == "#!/bin/sh\n# mine\n"


@pytest.mark.parametrize("start", ["project", "project/program"])
def test_the_dynamic_provider_finds_the_projects_environment_upwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    language_host.install(tmp_path / "bin", sys.executable)
    (tmp_path / "project" / "program").mkdir(parents=True)
    write_program(tmp_path / "project/.venv/bin/python", '#!/bin/sh\necho "$VIRTUAL_ENV" "$@"\n')
    answer = subprocess.run(
        [tmp_path / "bin" / DYNAMIC_PROVIDER, "127.0.0.1:1"],
        cwd=tmp_path / start,
        env={"PATH": "/usr/bin:/bin", "PULUMI_RUNTIME_VIRTUALENV": ".venv"},
        capture_output=True,
        text=True,
        check=True,
    )
    environment, *arguments = answer.stdout.split()
    assert environment == f"{tmp_path}/project/.venv"
    assert arguments[-3:] == ["module", "pulumi.dynamic", "127.0.0.1:1"]


def test_the_dynamic_provider_names_a_missing_environment(tmp_path: Path, only_path: Path) -> None:
    language_host.install(tmp_path / "bin", sys.executable)
    answer = subprocess.run(
        [tmp_path / "bin" / DYNAMIC_PROVIDER],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PULUMI_RUNTIME_VIRTUALENV": "absent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert "virtual environment absent has no Python; run pulumi install" in answer.stderr

"""Which interpreter a project's options select."""

import sys
from pathlib import Path

import pytest

from gpufleet_sandbox.language_host.interpreter import (
    Interpreter,
    OptionError,
    environment_folder,
    resolve,
)


def make_environment(folder: Path) -> Path:
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    return folder


def test_without_raw_the_hosts_own_interpreter_runs_the_program(tmp_path: Path) -> None:
    assert resolve({}, tmp_path, tmp_path) == Interpreter(sys.executable)


def test_virtualenv_is_relative_to_the_project_file_not_to_the_program(tmp_path: Path) -> None:
    program = tmp_path / "stacks"
    program.mkdir()
    environment = make_environment(tmp_path / ".venv")
    found = resolve({"virtualenv": ".venv"}, tmp_path, program)
    assert found == Interpreter(str(environment / "bin" / "python"), environment)


def test_an_absolute_virtualenv_is_taken_as_it_is(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "elsewhere")
    options = {"virtualenv": str(environment)}
    assert environment_folder(options, tmp_path / "project", tmp_path) == environment


@pytest.mark.parametrize(
    ("exists", "state"), [(False, "does not exist"), (True, "is not a virtual")]
)
def test_an_unusable_virtualenv_is_named(tmp_path: Path, exists: bool, state: str) -> None:
    if exists:
        (tmp_path / "env").mkdir()
    with pytest.raises(OptionError, match=f"{tmp_path}/env {state}") as caught:
        resolve({"virtualenv": "env"}, tmp_path, tmp_path)
    assert "pulumi install" in str(caught.value)


def test_uv_looks_beside_the_nearest_lock_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_PROJECT_ENVIRONMENT", raising=False)
    program = tmp_path / "stacks"
    program.mkdir()
    (tmp_path / "uv.lock").touch()
    assert environment_folder({}, program, program) == tmp_path / ".venv"
    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", "other")
    assert environment_folder({"toolchain": "uv"}, program, program) == tmp_path / "other"
    assert environment_folder({"toolchain": "pip"}, program, program) is None


def test_a_component_package_uses_its_own_venv_only_when_it_has_one(tmp_path: Path) -> None:
    assert environment_folder({}, tmp_path, tmp_path, is_component=True) is None
    own = make_environment(tmp_path / "venv")
    assert environment_folder({}, tmp_path, tmp_path, is_component=True) == own
    assert environment_folder({}, tmp_path, tmp_path) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"toolchain": "conda"}, "'toolchain' is 'conda'; it must be one of: pip, uv, poetry"),
        ({"virtualenv": 3}, "'virtualenv' is 3; it must be a text"),
        ({"typechecker": "mypy"}, "'typechecker' is 'mypy', which this language host does not run"),
    ],
)
def test_an_option_that_cannot_be_followed_is_refused(
    tmp_path: Path, options: dict[str, object], words: str
) -> None:
    with pytest.raises(OptionError) as caught:
        resolve(options, tmp_path, tmp_path)
    assert words in str(caught.value)


def test_an_activated_environment_comes_first_on_path(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "env")
    interpreter = Interpreter(str(environment / "bin" / "python"), environment)
    variables = interpreter.activated({"PATH": "/usr/bin", "PYTHONHOME": "/x", "KEEP": "1"})
    assert variables == {
        "PATH": f"{environment}/bin:/usr/bin",
        "VIRTUAL_ENV": str(environment),
        "KEEP": "1",
    }
    assert Interpreter("python").activated({"PYTHONHOME": "/x"}) == {"PYTHONHOME": "/x"}

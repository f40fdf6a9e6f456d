"""Which Python runs a program: the project's `virtualenv` and `toolchain` options, decided once.

The meaning of the options follows the vendor's host (pulumi/pulumi sdk v3.259.0,
`sdk/python/toolchain`): `virtualenv` is relative to the folder of Pulumi.yaml; without
`toolchain` a uv.lock or poetry.lock at or above the program selects that tool; pip without
`virtualenv` means the interpreter at hand, which for us is the one the host runs in.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TOOLCHAINS = ("pip", "uv", "poetry")
COMPONENT_ENVIRONMENT = "venv"
"""Folder where the vendor's CLI installs a component package's own environment."""


class OptionError(Exception):
    """An option of the project that cannot be used; the text names it and gives the remedy."""


@dataclass(frozen=True)
class Interpreter:
    """The Python a program runs in."""

    executable: str
    """Path of the interpreter."""
    environment: Path | None = None
    """Folder of the virtual environment; None for the host's own interpreter."""

    def activated(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The environment variables with this virtual environment activated."""
        result = dict(variables)
        if self.environment is None:
            return result
        programs = str(Path(self.executable).parent)
        result["PATH"] = os.pathsep.join(filter(None, [programs, result.get("PATH")]))
        result["VIRTUAL_ENV"] = str(self.environment)
        result.pop("PYTHONHOME", None)
        return result


def environment_folder(
    options: Mapping[str, object], root: Path, program: Path, *, is_component: bool = False
) -> Path | None:
    """Folder of the virtual environment that the options request, existing or not.

    Args:
        options: `runtime.options` of the project file.
        root: folder of the project file; `virtualenv` is relative to it.
        program: folder of the program, where the search for a lock file begins.
        is_component: a component package: its own `venv` counts when it is there.

    Raises:
        OptionError: an option of the wrong type, an unknown toolchain, or Poetry without a result.
    """
    virtualenv = _text(options, "virtualenv")
    toolchain = _text(options, "toolchain")
    if toolchain and toolchain not in TOOLCHAINS:
        raise OptionError(
            f"runtime option 'toolchain' is {toolchain!r}; it must be one of: "
            + ", ".join(TOOLCHAINS)
        )
    checker = _text(options, "typechecker")
    if checker and checker != "none":
        raise OptionError(
            f"runtime option 'typechecker' is {checker!r}, which this language host does not run; "
            "remove the option and run the type checker beforehand"
        )
    if not toolchain:
        toolchain = _toolchain_by_lock_file(program)
    if toolchain == "poetry":
        return _poetry_environment(program)
    if virtualenv:
        return root / virtualenv
    if toolchain == "uv":
        return _uv_environment(program)
    own = root / COMPONENT_ENVIRONMENT
    if is_component and python_in(own).is_file():
        return own
    return None


def resolve(
    options: Mapping[str, object], root: Path, program: Path, *, is_component: bool = False
) -> Interpreter:
    """The interpreter for a program; see `environment_folder` for the arguments.

    Raises:
        OptionError: as there, or the environment named by the options is not usable.
    """
    folder = environment_folder(options, root, program, is_component=is_component)
    if folder is None:
        return Interpreter(sys.executable)
    python = python_in(folder)
    if not python.is_file():
        state = "is not a virtual environment" if folder.exists() else "does not exist"
        raise OptionError(
            f"the project's virtual environment {folder} {state}; `pulumi install` creates it, "
            f"or by hand: {Path(sys.executable).name} -m venv {folder}"
        )
    return Interpreter(str(python), folder)


def python_in(environment: Path) -> Path:
    """Path of the interpreter of a virtual environment (POSIX layout)."""
    return environment / "bin" / "python"


def _text(options: Mapping[str, object], name: str) -> str:
    value = options.get(name) or ""
    if not isinstance(value, str):
        raise OptionError(f"runtime option {name!r} is {value!r}; it must be a text")
    return value


def _nearest(start: Path, name: str) -> Path | None:
    return next((f for f in (start, *start.parents) if (f / name).is_file()), None)


def _toolchain_by_lock_file(program: Path) -> str:
    if _nearest(program, "uv.lock"):
        return "uv"
    return "poetry" if _nearest(program, "poetry.lock") else "pip"


def _uv_environment(program: Path) -> Path:
    project = _nearest(program, "uv.lock") or _nearest(program, "pyproject.toml") or program
    return project / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")


def _poetry_environment(program: Path) -> Path:
    poetry = shutil.which("poetry")
    if poetry is None:
        raise OptionError("runtime option 'toolchain' is 'poetry', but poetry is not on PATH")
    answer = subprocess.run(
        [poetry, "env", "info", "--path"], cwd=program, capture_output=True, text=True, check=False
    )
    if answer.returncode != 0 or not answer.stdout.strip():
        raise OptionError(
            f"poetry knows no virtual environment for {program}; run `poetry install` there: "
            + answer.stderr.strip()
        )
    return Path(answer.stdout.strip())

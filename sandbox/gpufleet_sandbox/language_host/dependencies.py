"""Dependencies of a program, and their installation.

Imports that only some commands need stay inside the functions: the host starts at every
`pulumi preview`.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .interpreter import Interpreter, OptionError, environment_folder, python_in

_LIST_DISTRIBUTIONS = """
import importlib.metadata as m, json, re, sys
key = lambda name: re.sub(r"[-_.]+", "-", name).lower()
found = {key(d.metadata["Name"]): d for d in m.distributions() if d.metadata["Name"]}
needed = {key(re.split(r"[^A-Za-z0-9._-]", r, maxsplit=1)[0]) for d in found.values()
          for r in d.requires or () if "extra ==" not in r}
keep = found if sys.argv[1] == "all" else found.keys() - needed
print(json.dumps(sorted((name, found[name].version) for name in keep)))
"""


def sdk_version() -> str:
    """Version of the Pulumi SDK in the host's own environment; empty if unknown.

    The engine reads it at each command. Searching the installed distributions takes 60 ms, reading
    their folder's name takes none.
    """
    import pulumi

    for site in {Path(root).parent for root in pulumi.__path__}:
        for found in site.glob("pulumi-[0-9]*.dist-info"):
            return found.name.removeprefix("pulumi-").removesuffix(".dist-info")
    return ""


def version_of(interpreter: Interpreter) -> str:
    """Version of an interpreter, such as `3.11.7`."""
    if interpreter.executable == sys.executable:
        return ".".join(map(str, sys.version_info[:3]))
    return _output(interpreter, "import platform; print(platform.python_version())")


def installed(interpreter: Interpreter, *, transitive: bool) -> list[tuple[str, str]]:
    """Name and version of each distribution; without `transitive` those nothing else requires."""
    import json

    answer = _output(interpreter, _LIST_DISTRIBUTIONS, "all" if transitive else "top")
    return [(name, version) for name, version in json.loads(answer)]


def plugin_entry(folder: Path) -> list[str]:
    """Role and target that run the plugin in `folder`.

    A `__main__.py` is run as it is. Without one, an installed package of the folder's
    pyproject.toml is hosted by the SDK, as the vendor's host does.

    Raises:
        OptionError: the folder holds neither.
    """
    import tomllib

    if (folder / "__main__.py").is_file():
        return ["path", str(folder)]
    project = folder / "pyproject.toml"
    if project.is_file():
        name = tomllib.loads(project.read_text()).get("project", {}).get("name")
        if name:
            return ["module", "pulumi.run.plugin", name]
    raise OptionError(
        f"the plugin in {folder} cannot be run: it has neither a __main__.py nor a pyproject.toml "
        "with a project name"
    )


def install(options: Mapping[str, object], root: Path, program: Path) -> Iterator[bytes]:
    """Install what a program or plugin requests; yields output to show.

    Only into a virtual environment that the options name, made when missing. Without one the host's
    own environment is used, which has another owner and is not changed.

    Raises:
        OptionError: an option cannot be followed, or pip failed.
    """
    import subprocess

    folder = environment_folder(options, root, program, is_component=True)
    if folder is None:
        yield f"Using the packages installed for {sys.executable}\n".encode()
        return
    python = python_in(folder)
    if not python.is_file():
        yield f"Creating the virtual environment {folder}\n".encode()
        yield from _run([sys.executable, "-m", "venv", str(folder)], program)
    if (program / "requirements.txt").is_file():
        wanted = ["-r", "requirements.txt"]
    elif (program / "pyproject.toml").is_file():
        wanted = ["-e", "."]
    else:
        yield f"Nothing to install: no requirements.txt or pyproject.toml in {program}\n".encode()
        return
    has_pip = subprocess.run(
        [str(python), "-m", "pip", "--version"], capture_output=True, check=False
    )
    if has_pip.returncode != 0:
        raise OptionError(
            f"{python} has no pip; install the dependencies with the tool that made it"
        )
    yield from _run([str(python), "-m", "pip", "install", *wanted], program)


def _run(command: list[str], folder: Path) -> Iterator[bytes]:
    import subprocess

    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode != 0:
        raise OptionError(f"{' '.join(command)} ended with exit status {process.returncode}")


def _output(interpreter: Interpreter, code: str, *arguments: str) -> str:
    import subprocess

    answer = subprocess.run(
        [interpreter.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise OptionError(f"{interpreter.executable} does not work: {answer.stderr.strip()}")
    return answer.stdout.strip()

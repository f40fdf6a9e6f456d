"""Writes the executables that make the engine find this host, and the package's own plugin."""

import os
import shlex
import shutil
import tempfile
from pathlib import Path

HOST = "pulumi-language-python"
DYNAMIC_PROVIDER = "pulumi-resource-pulumi-python"
RESOURCE_PLUGIN = "pulumi-resource-gpufleet"
MARK = "# Written by gpufleet: replaces the Pulumi program of this name."
_OURS = b"# Written by gpufleet:"
"""Prefix of the mark of every version: a script of an older one is replaced."""
_ENTRY = Path(__file__).with_name("__main__.py")

_HOST_SCRIPT = """#!/bin/sh
{mark}
exec {python} -u {entry} serve "$@"
"""

# The engine passes the project's runtime options as variables, and starts the provider in the
# program's folder; a relative environment is looked for there, then in each folder above.
_PLUGIN_SCRIPT = """#!/bin/sh
{mark}
python={python}
wanted=${{PULUMI_RUNTIME_VIRTUALENV:-}}
if [ -z "$wanted" ] && [ "${{PULUMI_RUNTIME_TOOLCHAIN:-}}" = uv ]; then
    wanted=.venv
fi
if [ -n "$wanted" ]; then
    case $wanted in
        /*) found=$wanted ;;
        *)  base=$PWD
            while [ ! -x "$base/$wanted/bin/python" ] && [ -n "$base" ]; do base=${{base%/*}}; done
            found=$base/$wanted ;;
    esac
    if [ ! -x "$found/bin/python" ]; then
        echo "the project's virtual environment $wanted has no Python; run pulumi install" >&2
        exit 1
    fi
    python=$found/bin/python
    PATH=$found/bin:$PATH VIRTUAL_ENV=$found
    export PATH VIRTUAL_ENV
    unset PYTHONHOME
fi
exec "$python" -u {entry} module {module} "$@"
"""


def install(bin_dir: Path, python: str) -> None:
    """Write the language host and the starters of the plugins in Python into `bin_dir`.

    Each file appears whole or not at all, and a second call changes nothing. A file of that name
    that is not ours is left alone, and so is the folder when the vendor's host is on PATH: the
    real one always wins.

    Args:
        bin_dir: folder of the Pulumi CLI; created when missing. The engine warns at every command
            about a language host that it finds elsewhere.
        python: interpreter that has the Pulumi SDK; runs the host and, unless the project names an
            environment, the programs.
    """
    if vendor_host() is not None:
        return
    bin_dir.mkdir(parents=True, exist_ok=True)
    scripts = (
        (HOST, _HOST_SCRIPT, ""),
        (DYNAMIC_PROVIDER, _PLUGIN_SCRIPT, "pulumi.dynamic"),
        (RESOURCE_PLUGIN, _PLUGIN_SCRIPT, "gpufleet.hosting"),
    )
    for name, script, module in scripts:
        text = script.format(
            mark=MARK, python=shlex.quote(python), entry=shlex.quote(str(_ENTRY)), module=module
        )
        target = bin_dir / name
        if not target.exists() or (_is_ours(target) and target.read_text() != text):
            _write_executable(target, text)


def vendor_host() -> Path | None:
    """The vendor's Python language host on PATH; None when there is none or only ours."""
    for folder in os.get_exec_path():
        found = shutil.which(HOST, path=folder or ".")
        if found and not _is_ours(Path(found)):
            return Path(found)
    return None


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return _OURS in file.read(256)


def _write_executable(target: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        temporary.chmod(0o755)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

"""pyright on the files that a commit changed, and on those that import them, however indirectly.

`make test` runs it: `python -m tests.changed_types`. `make types` and the night check all files,
as this does where the configuration or the Python environment changed, a file was removed, or Git
cannot tell.
"""

import subprocess
import sys
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

import grimp

from tests.examples import changed_files, is_named

ROOT = Path(__file__).parents[1]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
OF_ALL = ("pyproject.toml", "requirements/dev.txt", "*.pyi")
"""Files on which the types of every file depend."""


def included() -> dict[str, str]:
    """The files that pyright's configuration names, and the module that each is: paths relative to
    the repository, names relative to the folder that is searched for packages."""
    words = ["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.py"]
    listed = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True)
    roots = tuple(TOOLS["pyright"]["include"])
    files = [one for one in listed.stdout.splitlines() if one.startswith(roots)]
    return {
        one: one.partition("/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for one in files
        if (ROOT / one).is_file()
    }


@cache
def graph() -> grimp.ImportGraph:
    """Which module of the product imports which."""
    return grimp.build_graph(*TOOLS["importlinter"]["root_packages"], cache_dir=None)


def files_to_check(
    changed: Collection[str], files: Mapping[str, str], imports: grimp.ImportGraph
) -> list[str] | None:
    """The paths that changed, those that import them, and those of no package.

    Args:
        changed: Paths that differ from the commit before.
        files: As of `included`.
        imports: As of `graph`.

    Returns:
        None: all files have to be checked.
    """
    if any(is_named(path, end) for path in changed for end in OF_ALL):
        return None
    roots = tuple(TOOLS["pyright"]["include"])
    ours = {path for path in changed if path.endswith(".py") and path.startswith(roots)}
    if not ours:
        return []
    if not ours <= files.keys():
        return None
    modules = {files[path] for path in ours} & imports.modules
    users = modules.union(*(imports.find_downstream_modules(module) for module in modules))
    return sorted(
        p for p, module in files.items() if module in users or module not in imports.modules
    )


def main() -> int:
    """pyright's exit status; 0 where no file is to be checked."""
    changed = changed_files()
    files = None if changed is None else files_to_check(changed, included(), graph())
    print("types:", "all files" if files is None else f"{len(files)} files", flush=True)
    if files == []:
        return 0
    pyright = Path(sys.executable).with_name("pyright")
    return subprocess.run([pyright, *(files or [])], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

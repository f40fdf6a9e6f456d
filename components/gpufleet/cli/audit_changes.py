"""What `gpufleet audit --patch` prints and `--fix` writes."""

from codecs import BOM_UTF8
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

import click

from gpufleet.cli.output import print_json
from gpufleet_policies.fronts.audit.inputs import STANDARD_INPUT
from gpufleet_policies.fronts.audit.patches import ObjectPatch, object_patches
from gpufleet_policies.fronts.audit.rewriting import rewritten
from gpufleet_policies.fronts.audit.run import Audit


def print_patches(result: Audit, output_format: str) -> None:
    """One JSON document: a list of {"file", "line", "object", "rules", "patch"}."""
    del output_format
    print_json([patch.as_dict() for patch in object_patches(result)])


def write_fixes(result: Audit, output_format: str) -> None:
    """Rewrite files where it is safe; say what was done, and print what a person must do."""
    by_file: dict[str, list[ObjectPatch]] = {}
    for patch in object_patches(result):
        by_file.setdefault(patch.file, []).append(patch)
    done: list[ObjectPatch] = []
    left: list[tuple[ObjectPatch, str]] = []
    for file, patches in by_file.items():
        if file == STANDARD_INPUT or file.lower().endswith(".json"):
            left += [(patch, "only YAML files are rewritten") for patch in patches]
            continue
        path = Path(file)
        if not path.is_file():
            left += [(patch, "only files are rewritten, and this is none") for patch in patches]
            continue
        try:
            before = path.read_bytes()
            mark = BOM_UTF8 if before.startswith(BOM_UTF8) else b""
            changed = rewritten(before.removeprefix(mark).decode("utf-8"), patches)
            if changed.done:
                _write(path, before, mark + changed.text.encode("utf-8"))
        except (OSError, UnicodeDecodeError) as problem:
            left += [(patch, str(problem)) for patch in patches]
            continue
        done += changed.done
        left += changed.left
    _say(done, left, output_format)


def _write(path: Path, before: bytes, after: bytes) -> None:
    """Put another text into a file. Raises OSError, with the text of before in it again."""
    with path.open("r+b", buffering=0) as file:
        try:
            _fill(file, after)
        except OSError:  # no room for more; what was there has its room
            _fill(file, before)
            raise


def _fill(file: FileIO, content: bytes) -> None:
    file.seek(0)
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]
    file.truncate()


def _say(
    done: Iterable[ObjectPatch], left: Iterable[tuple[ObjectPatch, str]], output_format: str
) -> None:
    if output_format == "json":
        print_json(
            {
                "fixed": [patch.as_dict() for patch in done],
                "left": [{**patch.as_dict(), "reason": reason} for patch, reason in left],
            }
        )
        return
    for patch in done:
        rules = ", ".join(patch.rules)
        click.echo(f"fixed {patch.file}:{patch.line} {patch.object}: {rules}")
    for patch, reason in left:
        rules = ", ".join(patch.rules)
        click.echo(f"not fixed {patch.file}:{patch.line} {patch.object}: {rules}: {reason}")
    click.echo("run `gpufleet audit` again: what is left needs a person")

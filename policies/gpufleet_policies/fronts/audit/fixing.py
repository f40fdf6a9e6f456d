"""Fixes: the new texts of files, validated again together before any of them is written.

A fix is bound to the bytes that the audit read. A file that was edited since is left alone, and a
fix that makes a new mandatory finding anywhere is not written.
"""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path

from gpufleet.documents.whole_file import FileChangedError, write_whole
from gpufleet.findings import Finding
from gpufleet_policies.fronts.audit.inputs import STANDARD_INPUT, Input
from gpufleet_policies.fronts.audit.patches import ObjectPatch, object_patches
from gpufleet_policies.fronts.audit.reading import Reading, digest, read_input
from gpufleet_policies.fronts.audit.rewriting import rewritten
from gpufleet_policies.fronts.audit.run import Audit

Validate = Callable[[Sequence[Reading]], Audit]
"""Everything that was read -> the audit of it, as the caller settled it."""
Chosen = Callable[[Finding], bool]
"""Whether a finding may be fixed."""

EDITED = "the file changed after it was read; run the audit again"
MAKES_ERRORS = "the changed file would have a new error"
REFUSED = "the file cannot be written"


@dataclass(slots=True)
class FixedFile:
    """One file with its present and its new bytes."""

    name: str
    before: bytes
    after: bytes
    patches: list[ObjectPatch]


@dataclass(slots=True)
class Fixes:
    """The changes of `--fix`, the findings that it leaves, and the audit afterwards."""

    result: Audit
    """The audit of the new texts."""
    files: list[FixedFile] = field(default_factory=list[FixedFile])
    left: list[tuple[ObjectPatch, str]] = field(default_factory=list[tuple[ObjectPatch, str]])
    """Patches that are not made, and why."""
    worse: list[Finding] = field(default_factory=list[Finding])
    """Findings that the fixes make; none of them is mandatory."""

    @property
    def done(self) -> list[ObjectPatch]:
        """Patches that are made."""
        return [patch for file in self.files for patch in file.patches]


def fixes(result: Audit, readings: Sequence[Reading], validate: Validate, chosen: Chosen) -> Fixes:
    """Compute the fixes of an audit; nothing is written.

    Args:
        result: The audit.
        readings: Its readings.
        validate: Validates changed readings in the same way.
        chosen: Findings to fix.
    """
    known = {reading.name: reading.digest for reading in readings}
    by_file: dict[str, list[ObjectPatch]] = {}
    for patch in object_patches(result, chosen):
        by_file.setdefault(patch.file, []).append(patch)
    made = Fixes(result)
    for name, patches in by_file.items():
        _rewrite(made, name, patches, known.get(name, ""))
    while made.files:
        made.result = validate(_readings(readings, made.files))
        made.worse = list(_added(result, made.result))
        broken = [one for one in made.worse if one.is_mandatory]
        if not broken:
            break
        _withdraw(made, broken)
    if not made.files:
        made.result, made.worse = result, []
    return made


def write(made: Fixes, readings: Sequence[Reading], validate: Validate) -> None:
    """Write the files, each whole or not at all. Fixes that cannot be written move to `left`."""
    intended = list(made.files)
    for file in intended:
        try:
            write_whole(Path(file.name), file.after, replaces=file.before)
        except (OSError, FileChangedError) as problem:
            reason = EDITED
            if isinstance(problem, OSError):
                reason = problem.strerror or REFUSED
            made.files.remove(file)
            made.left += [(patch, reason) for patch in file.patches]
    if len(made.files) < len(intended):
        made.result = validate(_readings(readings, made.files))


def diff(made: Fixes) -> Iterator[str]:
    """The change of every file as lines of a unified diff."""
    for file in made.files:
        before, after = (_text(text)[1].splitlines() for text in (file.before, file.after))
        yield from unified_diff(before, after, file.name, file.name, lineterm="")


def _rewrite(made: Fixes, name: str, patches: list[ObjectPatch], known: str) -> None:
    path = Path(name)
    reason = ""
    if name == STANDARD_INPUT or name.lower().endswith(".json"):
        reason = "only YAML files are rewritten"
    elif not path.is_file():
        reason = "only files are rewritten, and this is not a file"
    if reason:
        made.left += [(patch, reason) for patch in patches]
        return
    try:
        before = path.read_bytes()
        mark, text = _text(before)
    except (OSError, UnicodeDecodeError) as problem:
        made.left += [(patch, str(problem)) for patch in patches]
        return
    if digest(before) != known:
        made.left += [(patch, EDITED) for patch in patches]
        return
    changed = rewritten(text, patches)
    made.left += changed.left
    if changed.done:
        after = mark + changed.text.encode("utf-8")
        made.files.append(FixedFile(name, before, after, changed.done))


def _text(content: bytes) -> tuple[bytes, str]:
    mark = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
    return mark, content.removeprefix(mark).decode("utf-8")


def _readings(readings: Sequence[Reading], files: Iterable[FixedFile]) -> list[Reading]:
    new = {file.name: read_input(Input(file.name, content=file.after)) for file in files}
    return [new.get(reading.name, reading) for reading in readings]


def _added(before: Audit, after: Audit) -> Iterator[Finding]:
    """Findings about an object that had fewer of their rule and level before."""
    left = Counter(_key(one) for one in before.findings)
    for one in after.findings:
        if left[_key(one)] > 0:
            left[_key(one)] -= 1
        else:
            yield one


def _key(one: Finding) -> tuple[str, str, str, bool]:
    return one.file, str(one.locator), one.code, one.is_mandatory


def _withdraw(made: Fixes, broken: Sequence[Finding]) -> None:
    """Leave the files that get new errors, or all of them where the errors are elsewhere."""
    wrong = {one.file for one in broken}
    if not any(file.name in wrong for file in made.files):
        wrong = {file.name for file in made.files}
    codes = ", ".join(sorted({one.code for one in broken}))
    for file in made.files:
        if file.name in wrong:
            made.left += [(patch, f"{MAKES_ERRORS}: {codes}") for patch in file.patches]
    made.files = [file for file in made.files if file.name not in wrong]

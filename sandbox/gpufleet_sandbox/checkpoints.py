"""Puts back a checkpoint that an engine was writing when it was killed.

The file backend copies a stack's checkpoint to `<stack>.json.bak`, writes the attributes of the new
one (`<stack>.json.attrs`) in place and then the new one. An engine killed in between leaves an
empty or half-written file, and from then on no command works on any stack of the backend, not even
`pulumi stack ls` ("failed to load checkpoint: EOF", seen with CLI 3.259.0). Attributes are not
needed to read a checkpoint; the copy is the state one step earlier, and what that step did is among
its pending operations, which `stack_repair` settles.
"""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

SETTLED_SECONDS = 1.0
"""A checkpoint younger than this may still be being written by an engine that is alive."""


def restore_cut_off_checkpoints(backend_url: str, note: Callable[[str], None]) -> None:
    """Restore every unreadable checkpoint of a file backend from its copy, without attributes.

    A stack without a readable copy had no checkpoint before: its file is removed, and the stack is
    created again. Does nothing to other backends and to readable checkpoints.
    """
    address = urlparse(backend_url)
    if address.scheme != "file":
        return
    folder = Path(unquote(address.path))
    for attributes in sorted(folder.glob(".pulumi/stacks/**/*.attrs")):
        if _cut_off(attributes):
            attributes.unlink()
            written = attributes.with_suffix("")
            note(f"stack {written.stem}: {written.name}.attrs was truncated; removed it")
    for checkpoint in sorted(folder.glob(".pulumi/stacks/**/*.json")):
        if not _cut_off(checkpoint):
            continue
        copy = checkpoint.with_name(f"{checkpoint.name}.bak")
        if copy.is_file() and _readable(copy):
            fresh = checkpoint.with_name(f".{checkpoint.name}.restored")
            shutil.copyfile(copy, fresh)
            fresh.replace(checkpoint)
            note(f"stack {checkpoint.stem}: its state was truncated; restored the previous copy")
        else:
            checkpoint.unlink()
            note(f"stack {checkpoint.stem}: its first state was truncated; it starts empty")


def _cut_off(file: Path) -> bool:
    """Whether the file cannot be read and no process is writing it."""
    if _readable(file):
        return False
    time.sleep(max(0.0, SETTLED_SECONDS - (time.time() - file.stat().st_mtime)))
    return not _readable(file)


def _readable(file: Path) -> bool:
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True

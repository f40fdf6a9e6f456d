"""The key or value that an author probably means by one that a declaration does not have."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from gpufleet.catalogue.edition import read_rows

_WORDS = {
    (row["at"], row["found"]): row["write"]
    for row in read_rows(Path(__file__).parent, "meant_words")
}
"""Key that contains a value or another key, and the form of other tools -> the correct form."""


def folded(word: str) -> str:
    """The word without case and punctuation: clouds write `NO_SCHEDULE` for `NoSchedule`."""
    return re.sub("[^a-z0-9]", "", word.lower())


def meant_word(key: str, value: str, allowed: Sequence[str]) -> str:
    """The suggestion for a value that its key does not accept."""
    same = [name for name in allowed if folded(name) == folded(value)]
    # Platforms have similar names, `aks` and `eks`: only a typing error is close enough.
    near = difflib.get_close_matches(value, allowed, 1, 0.8 if key == "platform" else 0.6)
    if found := same or near:
        return f"nearest: {found[0]}"
    return _WORDS.get((key, folded(value))) or _WORDS.get((key, ""), "write one of them")


def meant_key(above: tuple[str | int, ...], key: str, allowed: Sequence[str]) -> str | None:
    """The key that an unknown key probably means; None: not known."""
    names = [part for part in above if isinstance(part, str)]
    if found := _WORDS.get((names[-1] if names else "", folded(key))):
        return found
    same = [name for name in allowed if folded(name) == folded(key)]
    near = same or difflib.get_close_matches(key, allowed, 1, 0.8)
    near = near or [name for name in allowed if key.lower() in _parts(name)]
    near = near or difflib.get_close_matches(key, allowed, 1, 0.6)
    return near[0] if near else None


def _parts(name: str) -> list[str]:
    """The words of a key: `version` is one of `kubernetesVersion`."""
    return re.sub(r"([A-Z])", r" \1", name).lower().split()

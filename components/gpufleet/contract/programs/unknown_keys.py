"""Keys no one reads: a misspelling silently loses what it declares, anything else is dropped."""

from collections.abc import Iterable

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child
from gpufleet.rules.rows import SHARED

KEY_RULES = rules_in("unknown_keys")
"""The two rules about keys of a document, of every kind whose reader ignores what it does not
know."""


_SHORT = 12
_OBJECT_KEYS = ("apiVersion", "kind", "metadata")


def report_key(
    report: CheckReport,
    path: str,
    key: str,
    known: Iterable[str],
    reader: str,
    of_release: str | None = None,
    *,
    needless: bool = False,
) -> None:
    """Add the finding about one key that `reader` ignores. `of_release`: what is known is of this
    release, and the document is of an older one, which may have read a key that looks like a
    misspelling now. `needless`: the key
    asks for nothing, so that only a misspelling of another loses something."""
    names = tuple(known)
    # A key of Kubernetes objects is not a misspelling of one of the document (`version`).
    near = () if key in _OBJECT_KEYS else nearest_names(key, names, limit=1)
    place = child(path, key)
    if near and _looks_like(key, near[0]) and of_release is not None:
        report.add(
            f"{SHARED}-key-unknown",
            place,
            f"{reader} does not know `{key}` in {of_release}, and knows `{near[0]}`; whether the "
            "older release did is not known",
            f"write `{near[0]}` if you mean it",
            value=key,
        )
        return
    if near and _looks_like(key, near[0]):
        report.add(
            f"{SHARED}-key-misspelt",
            place,
            f"{reader} does not know `{key}` and ignores it, so what it declares does not happen",
            f"write `{near[0]}`",
            value=key,
            nearest=near[0],
        )
        return
    if needless:
        return
    report.add(
        f"{SHARED}-key-unknown",
        place,
        f"{reader} does not know `{key}` and ignores it",
        f"remove it; known here: {', '.join(names[:12])}" if names else "remove it",
        value=key,
    )


def _looks_like(key: str, known: str) -> bool:
    import difflib  # only findings need it

    one, other = key.lower(), known.lower()
    same = difflib.SequenceMatcher(None, one, other).ratio()
    # Of long names made of several words, two share a word easily.
    needed = 0.75 if max(len(one), len(other)) <= _SHORT else 0.85
    return same >= needed or one.replace("-", "").replace("_", "") == other

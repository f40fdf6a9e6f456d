"""Keys that are not read: a misspelled key silently loses its setting, other keys are dropped."""

from collections.abc import Iterable

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.paths import child

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
    """Add the finding about one key that `reader` ignores. `of_release`: the known release, if the
    document is of an older one, in which a key that now looks misspelled may have been valid.
    `needless`: the key requests nothing, so that it loses something only if it is a misspelling of
    another."""
    names = tuple(known)
    # A key of Kubernetes objects is not a misspelling of one of the document (`version`).
    near = () if key in _OBJECT_KEYS else nearest_names(key, names, limit=1)
    place = child(path, key)
    if near and _looks_like(key, near[0]) and of_release is not None:
        report.say(
            "config-key-unknown/newer",
            place,
            value=key,
            reader=reader,
            release=of_release,
            near=near[0],
        )
        return
    if report_misspelt(report, place, key, near, reader) or needless:
        return
    fix = f"remove it; known here: {', '.join(names[:12])}" if names else "remove it"
    report.say("config-key-unknown/ignored", place, fix=fix, value=key, reader=reader)


def report_misspelt(
    report: CheckReport, place: str, key: str, known: Iterable[str], reader: str
) -> bool:
    """Whether a name resembles one that `reader` knows; adds the finding if it does."""
    near = nearest_names(key, known, limit=1)
    if not near or not _looks_like(key, near[0]):
        return False
    report.say("config-key-misspelt", place, value=key, nearest=near[0], reader=reader)
    return True


def _looks_like(key: str, known: str) -> bool:
    import difflib  # only findings need it

    one, other = key.lower(), known.lower()
    same = difflib.SequenceMatcher(None, one, other).ratio()
    # Long names of several words often share a word.
    needed = 0.75 if max(len(one), len(other)) <= _SHORT else 0.85
    return same >= needed or one.replace("-", "").replace("_", "") == other

"""Patterns of file names on the command line."""

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a file's name, or that of a folder above it, matches one of the patterns.

    `*` is any text, with `/` in it too, `?` one character, `[ab]` one of these. `**/x` is `x` in
    any folder. A pattern without `/` is compared with the name of each folder and of the file too.
    """
    path = os.path.normpath(name)
    parts = path.split("/")
    above = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    for pattern in patterns:
        wanted = os.path.normpath(pattern) if pattern else ""
        names = [*above, *parts] if "/" not in wanted else above
        forms = (wanted, wanted.removeprefix("**/"))
        if any(one == form or fnmatchcase(one, form) for one in names for form in forms):
            return True
    return False

"""Paths into a document, as findings print them: `mig-configs.all-1g[0].mig-devices["1g.5gb"]`."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def child(path: str, step: str | int) -> str:
    """The path of one entry of the mapping or list at `path`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if _PLAIN_KEY.fullmatch(step):
        return f"{path}.{step}" if path else step
    quoted = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{quoted}"]'


def value_at(
    document: Any,
    path: str,
    *,
    absent: Any = None,
    unreadable: Any = None,
    opened: Callable[[Any], Any] | None = None,
) -> Any:
    """The value at a dotted path of mappings.

    Args:
        document: Plain data.
        path: Keys with dots between them.
        absent: The answer where a key is not written, or is below null.
        unreadable: The answer where the path leads through something that is no mapping.
        opened: What a value that is no mapping is read as, before the path leads on.
    """
    here = document
    for key in _keys(path):
        if type(here) is not dict:
            here = here if opened is None else opened(here)
            if here is None:
                return absent
            if not isinstance(here, Mapping):
                return unreadable
        here = cast("Mapping[str, Any]", here).get(key, absent)
    return here


@lru_cache(maxsize=1000)
def _keys(path: str) -> list[str]:
    return path.split(".")

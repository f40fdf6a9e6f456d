"""Doing something for many machines at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gpufleet.platforms.vsphere.vcenter.errors import VsphereError

T = TypeVar("T")


def each(
    items: Sequence[T], width: int, name: Callable[[T], str], do: Callable[[T], object]
) -> dict[str, str]:
    """Do it for each, `width` at a time, all of them whatever becomes of one.

    Returns name -> failure.
    """
    failures: dict[str, str] = {}

    def attempt(item: T) -> None:
        try:
            do(item)
        except VsphereError as failure:
            failures[name(item)] = str(failure)

    with ThreadPoolExecutor(max(1, min(width, len(items) or 1))) as pool:
        for done in [pool.submit(attempt, item) for item in items]:
            done.result()
    return failures

"""`--svg` and `--png` of the commands that draw."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.canvas import PictureError, save
from gpufleet.cli.output import UnreadableInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Function = Callable[..., Any]


def picture_options(what: str) -> Callable[[_Function], _Function]:
    """Add `--svg FILE` and `--png FILE`, handed on as `svg` and `png`."""

    def add(function: _Function) -> _Function:
        for kind in ("png", "svg"):
            text = f"Also draw {what} into this {kind.upper()} file."
            function = click.option(f"--{kind}", metavar="FILE", help=text)(function)
        return function

    return add


def draw(make: "Callable[[], Figure]", svg: str | None, png: str | None) -> None:
    """Make the figure once and write what was asked for; nothing is imported for nothing."""
    files = [(name, kind) for name, kind in ((svg, "svg"), (png, "png")) if name is not None]
    if not files:
        return
    for name, kind in files:
        if not name.lower().endswith(f".{kind}"):
            raise click.UsageError(
                f"--{kind} writes {kind.upper()}: {name} should end with .{kind}"
            )
    try:
        figure = make()
        for name, _ in files:
            save(figure, name)
    except ModuleNotFoundError as missing:
        raise click.UsageError(
            f"pictures need {missing.name}: install the extra `planner` (gpufleet[planner])"
        ) from None
    except PictureError as problem:
        raise click.UsageError(str(problem)) from None
    except OSError as problem:
        raise UnreadableInputError(
            f"cannot write {problem.filename}: {problem.strerror or problem}"
        ) from None

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# (the stubs of matplotlib leave its keyword arguments untyped)
"""What all pictures share: colours, and files whose bytes depend on the content alone."""

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (
    *("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f"),
    *("#a0cbe8", "#ffbe7d", "#8cd17d", "#ff9d9a", "#86bcb6", "#f1ce63", "#d4a6c8", "#d7b5a6"),
)
"""Two shades of eight hues that stay apart for colour-blind readers (Tableau 10 and 20)."""
INK, FAINT, WRONG = "#24292f", "#8c959f", "#cf222e"
SUFFIXES = (".svg", ".png")
_PNG_DOTS_PER_INCH = 160
_SETTINGS: Any = {
    "svg.hashsalt": "gpufleet",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "text.color": INK,
}


class PictureError(ValueError):
    """The file cannot be drawn; the message says why."""


def new_figure(width: float, height: float) -> "Figure":
    """An empty white figure of so many inches. Raises ModuleNotFoundError without matplotlib."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor="white")


def save(figure: "Figure", file: str) -> None:
    """Write SVG or PNG, as the name ends. Raises PictureError for another ending, OSError."""
    suffix = Path(file).suffix.lower()
    if suffix not in SUFFIXES:
        raise PictureError(f"{file!r} ends with neither .svg nor .png")
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):
        # Neither date nor version of the library: the same content gives the same bytes.
        none = {"Date": None, "Creator": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(file, format=suffix[1:], dpi=_PNG_DOTS_PER_INCH, metadata=none)


def svg_text(figure: "Figure") -> str:
    """The figure as SVG."""
    import matplotlib as mpl

    text = StringIO()
    with mpl.rc_context(_SETTINGS):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()

"""Parts of the HTML pages of commands: one style, without other files, hosts or scripts."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from gpufleet.messages import marked, one_line


def document(title: str, body: Iterable[str]) -> str:
    """A whole page."""
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def tiles(amounts: Iterable[tuple[str, str, str]]) -> list[str]:
    """A row of tiles from the name, the amount and the remark of each."""
    tiles = [
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(amount)}</b>'
        f"<span>{escape(remark)}</span></div>"
        for name, amount, remark in amounts
    ]
    return ['<div class="tiles">', *tiles, "</div>"]


def finding(level: str, code: str, text: str, fix: str, places: Iterable[str]) -> str:
    """A finding: its text, its fix, and where it is. `level` is error, warning or info."""
    where = ", ".join(f"<code>{escape(one_line(place))}</code>" for place in places)
    return (
        f'<div class="finding {level}"><p><span class="level">{level}</span>{marked(text)}</p>'
        + (f"<p>Fix: {marked(fix)}</p>" if fix else "")
        + f'<p class="where">{escape(code)}: {where}</p></div>'
    )

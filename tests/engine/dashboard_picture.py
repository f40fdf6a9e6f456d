"""A dashboard's panels as a picture: their places and titles, and Prometheus' results for them.

No Grafana draws here: this shows the layout and that the queries have results, for the page.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.unit.render.dashboard_queries import queries

COLUMN, LINE = 40, 30
"""Pixels of one of Grafana's 24 columns and of one unit of height."""
SHOWN = 4
"""Maximum number of results in a panel."""


def draw(dashboard: dict[str, Any], ask: Callable[[str], list[dict[str, Any]]], file: Path) -> int:
    """Write an SVG. Returns the number of panels with a result."""
    bottom = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in dashboard["panels"])
    size = f'width="{24 * COLUMN}" height="{bottom * LINE}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#f4f5f5"/>',
    ]
    answered = 0
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        x, y = at["x"] * COLUMN, at["y"] * LINE
        width, height = at["w"] * COLUMN - 6, at["h"] * LINE - 6
        if panel["type"] == "row":
            parts.append(_text(x + 6, y + 20, panel["title"], "bold"))
            continue
        parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#fff" stroke="#ccc"/>'
        )
        parts.append(_text(x + 8, y + 18, f"{panel['title']} ({panel['type']})", "bold"))
        single = {**dashboard, "panels": [panel]}
        results = [result for query in queries(single) for result in ask(query)]
        answered += bool(results)
        for number, result in enumerate(results[:SHOWN]):
            labels = ", ".join(
                value for key, value in sorted(result["metric"].items()) if key != "__name__"
            )
            text = f"{float(result['value'][1]):.4g}  {labels}"[: width // 7]
            parts.append(_text(x + 8, y + 40 + 18 * number, text))
        if not results:
            parts.append(_text(x + 8, y + 40, "no data"))
    file.write_text("\n".join([*parts, "</svg>", ""]), encoding="utf-8")
    return answered


def _text(x: int, y: int, text: str, weight: str = "normal") -> str:
    plain = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x}" y="{y}" font-weight="{weight}">{plain}</text>'

"""The PromQL of a Grafana dashboard, with a value for each of its variables."""

import re
from typing import Any


def query_of(target: dict[str, Any]) -> str:
    """The expression of a target that Grafana would send with all variables at `All`."""
    return re.sub(r"\$[a-z]\w*", ".*", target["expr"])


def queries(dashboard: dict[str, Any]) -> list[str]:
    """Every expression that Grafana would send."""
    names = {one["name"] for one in dashboard["templating"]["list"]}
    found: list[str] = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            used = set(re.findall(r"\$([a-z]\w*)", target["expr"]))
            assert used <= names, (panel["title"], used - names)
            found.append(query_of(target))
    return found

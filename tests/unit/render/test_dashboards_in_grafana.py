"""Dashboards through Grafana's own types (grafana-foundation-sdk): they have all our fields.

The types are generated from Grafana's schemas, those of each kind of panel and of the Prometheus
data source included. Unknown fields are missing when a dashboard comes back from them.
"""

import copy
import json
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.unit.render.test_dashboards import ALL

register_default_plugins()
UNTYPED = {"definition"}
"""Fields of a variable that Grafana's editor writes and its schema leaves open."""


def lost(given: Any, back: Any, path: str = "") -> Iterator[str]:
    """Everything that is not the same, or not there, after the way through the types."""
    if isinstance(given, dict) and isinstance(back, dict):
        for key, value in given.items():
            if key not in back:
                yield f"{path}.{key}"
            else:
                yield from lost(value, back[key], f"{path}.{key}")
    elif isinstance(given, list) and isinstance(back, list) and len(given) == len(back):
        for index, (one, other) in enumerate(zip(given, back, strict=True)):
            yield from lost(one, other, f"{path}[{index}]")
    elif given != back:
        yield f"{path}: {given!r} became {back!r}"


def check_words(value: Any) -> None:
    """Each word of a field with a list of words is one of them; ValueError otherwise."""
    if isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            check_words(one)
    elif hasattr(value, "to_json"):
        hints = typing.get_type_hints(type(value))
        for name, inner in vars(value).items():
            hint = hints.get(name)
            for kind in typing.get_args(hint) or (hint,):
                if isinstance(kind, type) and issubclass(kind, Enum) and inner is not None:
                    kind(inner)
            check_words(inner)


def unknown(dashboard: dict[str, Any]) -> list[str]:
    typed = Dashboard.from_json(copy.deepcopy(dashboard))
    check_words(typed)
    back = json.loads(JSONEncoder(sort_keys=True).encode(typed))
    return [one for one in lost(dashboard, back) if one.rsplit(".", 1)[-1] not in UNTYPED]


@pytest.mark.parametrize("uid", list(ALL))
def test_grafana_knows_all_of_it(uid: str) -> None:
    assert unknown(ALL[uid]) == []


def _misspelled(panel: dict[str, Any]) -> None:
    panel["options"]["reduceOption"] = panel["options"].pop("reduceOptions")


def _misspelled_unit(panel: dict[str, Any]) -> None:
    panel["fieldConfig"]["defaults"]["units"] = panel["fieldConfig"]["defaults"].pop("unit")


def _of_another_kind(panel: dict[str, Any]) -> None:
    panel["options"]["showHeader"] = True


@pytest.mark.parametrize("change", [_misspelled, _misspelled_unit, _of_another_kind])
def test_what_grafana_does_not_know_is_seen(change: Any) -> None:
    """The test above would notice."""
    dashboard = copy.deepcopy(ALL["gpufleet-fleet"])
    stat = next(panel for panel in dashboard["panels"] if panel["type"] == "stat")
    change(stat)
    assert len(unknown(dashboard)) == 1


def test_a_word_that_is_none_of_grafanas_is_refused() -> None:
    dashboard = copy.deepcopy(ALL["gpufleet-fleet"])
    stat = next(panel for panel in dashboard["panels"] if panel["type"] == "stat")
    stat["options"]["colorMode"] = "rainbow"
    with pytest.raises(ValueError, match="rainbow"):
        unknown(dashboard)

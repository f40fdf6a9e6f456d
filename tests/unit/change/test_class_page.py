"""docs/change-classes.md: effect of a change of each field on each platform, by the plans.

`UPDATE_GOLDEN=1 pytest -m nightly tests/unit/change/test_class_page.py` writes the page again.
"""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import ChangePlan
from gpufleet.cli.schema import fleet_schema
from gpufleet.fleet.leaf_class import LeafClass
from tests.unit.change.leaf_mutations import mutations
from tests.unit.change.test_no_silent_change import FLEETS, _compiled

PAGE = Path(__file__).parents[3] / "docs" / "change-classes.md"
COLUMNS = {
    "eks": "EKS",
    "eks-karpenter": "Karpenter",
    "gke": "GKE",
    "vsphere": "vSphere",
    "openshift": "OpenShift on vSphere",
    "openshiftAws": "OpenShift on AWS",
    "openshiftGcp": "OpenShift on Google Cloud",
    "sandbox": "sandbox",
}
VALUES = 2
"""Values tried of each field."""
QUIET = {LeafClass.NONE, LeafClass.COMPILED, None}
HEAD = """# What a change of a field does

Written by a test from plans of `gpufleet change`: each field is changed alone, on one fleet of each
platform, to a few values. `-`: no other value compiles there, or nothing that runs depends on it.
Classes are explained in [change.md](change.md).

| field | {columns} |
|---|{rule}
"""


def measured() -> dict[str, dict[str, set[str]]]:
    """Field -> fleet -> classes that its changes have."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    schema = fleet_schema()
    for name in COLUMNS:
        data = FLEETS[name]
        old = _compiled(data)
        assert old is not None
        tried: dict[str, int] = defaultdict(int)
        for path, changed in mutations(schema, data):
            field = path.replace("pools.0.", "pools[].")
            if "pools.1." in path or tried[field] >= VALUES:
                continue
            new = _compiled(changed)
            if new is None:
                continue
            tried[field] += 1
            plan = change_plan(old, new)
            found[field][name] |= _classes(plan)
            found[field][name] |= {
                pool.kind.value for pool in plan.pools if pool.kind.value in {"recut", "removed"}
            }
    return found


def _classes(plan: ChangePlan) -> set[str]:
    of_pools = (d for p in plan.pools for d in (*p.differences, *p.inputs))
    classes = {d.leaf_class for d in (*plan.cluster, *of_pools)} - QUIET
    return {one.value for one in classes if one is not None}


def page(found: dict[str, dict[str, set[str]]]) -> str:
    """The page."""
    text = HEAD.format(columns=" | ".join(COLUMNS.values()), rule="---|" * len(COLUMNS))
    for field in sorted(found):
        cells = [", ".join(sorted(found[field].get(name, ()))) or "-" for name in COLUMNS]
        if set(cells) != {"-"}:
            text += f"| `{field}` | {' | '.join(cells)} |\n"
    return text


@pytest.mark.nightly
def test_the_page_is_what_plans_say() -> None:
    text = page(measured())
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8"), "see the module's docstring"

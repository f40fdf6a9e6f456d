"""Random edits of whole declarations, several at once: none is silent.

Independent of `leaf_mutations`: values are drawn from the JSON Schema, lists are changed as people
change them (added to, taken from, reordered), pools are renamed, doubled, removed and moved.
"""

import copy
import json
import random
from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.plan import NodeChangeKind
from gpufleet.cli.schema import fleet_schema
from tests.unit.change.test_no_silent_change import FLEETS, _compiled, _output, unnamed

Data = dict[str, Any]
SCHEMA = fleet_schema()
WORDS = ("a", "b1", "team-x", "us-east-1b", "us-central1-b", "0.5h", "12", "1.2.3", "x.y/z", "none")
TAINTS = [
    {"key": "example.com/one", "value": "1", "effect": "NoSchedule"},
    {"key": "example.com/two", "value": "2", "effect": "PreferNoSchedule"},
    {"key": "example.com/three", "effect": "NoExecute"},
]
CAPACITY: dict[str, list[Data]] = {
    "eks": [{"onDemand": {}}, {"spot": {}}],
    "gke": [{"onDemand": {}}, {"spot": {}}],
}
TYPES = {"eks": ["g6.xlarge", "g6.2xlarge", "g6.4xlarge"], "gke": ["g2-standard-8"]}


def _resolved(part: Data) -> Data:
    if "$ref" in part:
        return _resolved(SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]])
    others = [one for one in part.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(others[0]) if others else part


def _drawn(part: Data, dice: random.Random, depth: int = 0) -> Any:
    """Some value of a part of the schema."""
    part = _resolved(part)
    if "const" in part:
        return part["const"]
    if "enum" in part:
        return dice.choice(part["enum"])
    match part.get("type"):
        case "boolean":
            return dice.random() < 0.5
        case "integer" | "number":
            low = part.get("minimum", part.get("exclusiveMinimum", 0))
            return dice.randint(int(low), int(min(part.get("maximum", 50), low + 40)))
        case "string":
            return dice.choice(WORDS)
        case "array":
            return [
                _drawn(part.get("items", {}), dice, depth + 1) for _ in range(dice.randint(0, 2))
            ]
        case "object" if "properties" in part:
            wanted = set(part.get("required", ()))
            chosen = [k for k in part["properties"] if k in wanted or dice.random() < 0.2]
            return {k: _drawn(part["properties"][k], dice, depth + 1) for k in chosen if depth < 4}
        case "object":
            return {dice.choice(("k", "example.com/k")): dice.choice(WORDS)}
        case _:
            return dice.choice(WORDS)


def _field(data: Data, dice: random.Random) -> None:
    """One field anywhere, drawn from the schema, or taken away."""
    part, place = SCHEMA, data
    while True:
        names = sorted(_resolved(part).get("properties", ()))
        if not names:
            return
        name = dice.choice(names)
        below = _resolved(_resolved(part)["properties"][name])
        if name == "pools":
            place, part = dice.choice(data["pools"]), below["items"]
        elif "properties" in below and dice.random() < 0.9:
            place, part = place.setdefault(name, {}), below
        else:
            if name in place and dice.random() < 0.3:
                del place[name]
            else:
                place[name] = _drawn(below, dice)
            return


def _listed(data: Data, dice: random.Random) -> None:
    """A list of a pool: one more, one less, or another order."""
    pool, platform = dice.choice(data["pools"]), data["platform"]
    lists = {
        "taints": TAINTS,
        "capacity": CAPACITY.get(platform, []),
        "instanceTypes": TYPES.get(platform, []),
    }
    name = dice.choice([key for key, known in lists.items() if known])
    if name == "instanceTypes":
        pool.pop("gpu", None)
    present = list(pool.get(name, ()))
    action = dice.choice(("add", "drop", "shuffle"))
    if action == "add" or not present:
        present.insert(dice.randint(0, len(present)), copy.deepcopy(dice.choice(lists[name])))
    elif action == "drop":
        present.pop(dice.randrange(len(present)))
    else:
        dice.shuffle(present)
    pool[name] = present


def _pools(data: Data, dice: random.Random) -> None:
    """Pools: another name, one more, one less, another order."""
    pools = data["pools"]
    match dice.choice(("rename", "double", "drop", "shuffle", "swap")):
        case "rename":
            dice.choice(pools)["name"] = f"renamed{dice.randint(0, 3)}"
        case "double":
            pools.append({**copy.deepcopy(dice.choice(pools)), "name": f"more{dice.randint(0, 9)}"})
        case "drop" if len(pools) > 1:
            pools.pop(dice.randrange(len(pools)))
        case "swap" if len(pools) > 1:
            one, two = dice.sample(pools, 2)
            one["name"], two["name"] = two["name"], one["name"]
        case _:
            dice.shuffle(pools)


def _labels(data: Data, dice: random.Random) -> None:
    """Maps: a key more, a key less, another value."""
    place = dice.choice([*data["pools"], data])
    found = dict(place.get("labels" if place is not data else "tags", {}))
    if found and dice.random() < 0.4:
        found.pop(dice.choice(sorted(found)))
    else:
        found[dice.choice(("one", "two"))] = dice.choice(("1", "2"))
    place["labels" if place is not data else "tags"] = found


def _moved(data: Data, dice: random.Random) -> None:
    """Another platform, with the same pools as far as it takes them."""
    other = _copied(FLEETS[dice.choice(sorted(FLEETS))])
    names = [pool["name"] for pool in data["pools"]]
    data.clear()
    data.update(other)
    for pool, name in zip(data["pools"], names, strict=False):
        pool["name"] = name


def _copied(data: Data) -> Data:
    return json.loads(json.dumps(data))


EDITS = (_field, _field, _field, _field, _listed, _listed, _pools, _labels)


def edited(data: Data, dice: random.Random, most: int) -> Data:
    """A declaration after some edits that it still compiles with."""
    found = data
    for _ in range(dice.randint(1, most)):
        for _ in range(30):
            changed = _copied(found)
            (_moved if dice.random() < 0.01 else dice.choice(EDITS))(changed, dice)
            if changed != found and _compiled(changed) is not None:
                found = changed
                break
    return found


def silent(name: str, seed: int) -> list[str]:
    """Changes that the plan between two random declarations does not name."""
    dice = random.Random(f"{name} {seed}")
    start = edited(_copied(FLEETS[name]), dice, 3)
    after = edited(start, dice, 4)
    old, new = _compiled(start), _compiled(after)
    assert old is not None
    assert new is not None
    plan = change_plan(old, new)
    kinds = {change.name: change.kind for change in plan.pools}
    one, two = ({pool.name for pool in fleet.pools} for fleet in (old, new))
    wrong = [f"{pool} came" for pool in two - one if kinds[pool] is not NodeChangeKind.ADDED]
    wrong += [f"{pool} went" for pool in one - two if kinds[pool] is not NodeChangeKind.REMOVED]
    if old.spec.platform is not new.spec.platform:
        stay = [pool for pool in one & two if kinds[pool] is not NodeChangeKind.NEW_POOL]
        return [*wrong, *(f"{pool} moves and is {kinds[pool].value}" for pool in stay)]
    if _output(old) != _output(new):
        wrong += unnamed(old, new, plan)
    return wrong


@pytest.mark.parametrize("name", FLEETS)
def test_no_random_edit_is_silent(name: str) -> None:
    assert {seed: found for seed in range(4) if (found := silent(name, seed))} == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", FLEETS)
def test_no_random_edit_of_many_is_silent(name: str) -> None:
    assert {seed: found for seed in range(300) if (found := silent(name, seed))} == {}

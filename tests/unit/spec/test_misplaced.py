"""Keys and values in the wrong place: the fix names the right one, and the fixed file compiles."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data

HEAD: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "a", "region": "us-east-1", "kubernetesVersion": "1.35"},
}
NODES = {"min": 0, "max": 1}


def spec(pool: dict[str, Any], **head: Any) -> dict[str, Any]:
    return {**HEAD, "pools": [{"name": "a", "gpu": "L4", "nodes": NODES, **pool}], **head}


@pytest.mark.parametrize(
    ("wrong", "path", "fix", "right"),
    [
        ({"gpus": 4}, "pools[0].gpus", "write `gpusPerNode: 4`", {"gpusPerNode": 4}),
        (
            {"nodes": {**NODES, "gpus": 4}},
            "pools[0].nodes.gpus",
            "write `gpusPerNode: 4` next to `nodes`",
            {"gpusPerNode": 4},
        ),
        (
            {"nodes": 4},
            "pools[0].nodes",
            "write `nodes: {min: 4, max: 4}`",
            {"nodes": {"min": 4, "max": 4}},
        ),
        (
            {"timeSlicing": {"replicas": 4}},
            "pools[0].timeSlicing",
            "write it under `sharing`: `sharing: {timeSlicing: ...}`",
            {"sharing": {"timeSlicing": {"replicas": 4}}},
        ),
        (
            {"gpu": "A100-80GB", "sharing": {"mig": {"1g.10gb": 3, "2g.20gb": 2}}},
            'pools[0].sharing.mig["1g.10gb"]',
            "write `layouts: [{devices: {1g.10gb: 3, 2g.20gb: 2}}]`",
            {
                "gpu": "A100-80GB",
                "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 3, "2g.20gb": 2}}]}},
            },
        ),
        (
            {"nodes": {**NODES, "intent": "training"}},
            "pools[0].nodes.intent",
            "write it next to `nodes`",
            {"intent": "training"},
        ),
        (
            {"min": 0},
            "pools[0].min",
            "write it under `nodes`: `nodes: {min: 0}`",
            {},
        ),
    ],
)
def test_the_fix_names_the_place(
    wrong: dict[str, Any], path: str, fix: str, right: dict[str, Any]
) -> None:
    found = {one.path: one.fix for one in compile_data(spec(wrong)).findings}
    assert found[path] == fix
    codes = {one.code for one in compile_data(spec(right)).findings}
    assert not {code for code in codes if code.startswith("spec-")}


def test_a_key_that_the_place_above_has_already_was_not_meant_for_it() -> None:
    bought = {"capacity": [{"reserved": {"id": "r", "name": "r", "zones": ["a"]}}]}
    found = {one.path: one for one in compile_data(spec(bought)).findings}
    known = found["pools[0].capacity[0].reserved.name"]  # the pool has a name
    assert "the keys are starts, until, id" in known.message
    assert known.fix == "remove it"
    assert found["pools[0].capacity[0].reserved.zones"].fix == "write it next to `capacity`"


def test_a_key_of_the_fleet_in_a_pool_goes_next_to_the_pools() -> None:
    (found,) = compile_data(spec({"budget": {"usdPerHour": 3}})).findings
    assert (found.path, found.fix) == ("pools[0].budget", "write it next to `pools`")


@pytest.mark.parametrize("word", ["EKS", "Eks"])
def test_the_case_of_a_word_is_a_slip(word: str) -> None:
    (found,) = compile_data(spec({}, platform=word)).findings
    assert found.fix == "nearest: eks"


def test_only_whole_numbers_of_unknown_keys_are_repeated() -> None:
    secret = "plain-word-of-a-person"
    for wrong in (
        {"gpus": secret},
        {"timeSlicing": secret},
        {"sharing": {"mig": {"1g.10gb": secret}}},
        {"nodes": {**NODES, "gpus": secret}},
    ):
        findings = compile_data(spec(wrong)).findings
        assert findings
        assert secret not in str([one.as_dict() for one in findings])


@pytest.mark.parametrize("nodes", [True, 0, -1, "four"])
def test_nodes_that_no_number_says_have_their_keys_as_fix(nodes: object) -> None:
    (found,) = compile_data(spec({"nodes": nodes})).findings
    assert found.fix == "write a mapping; its keys are min, max, expected"

import json

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.output import UnreadableInputError
from gpufleet_planner.commands.pack import command

FILE = """
machines:
  - {name: a, instanceType: p4de.24xlarge, maxNodes: 3}
  - {name: l4, instanceType: g6.xlarge}
shares:
  - {name: notebooks, count: 9, mig: 1g.10gb}
  - {name: train, gpus: 4, memory: 60GiB}
  - {name: web, count: 2, mps: {part: 1/4, memory: 4 GiB}}
existing:
  - {node: old, machine: a, gpus: [{mig: [{profile: 3g.40gb, start: 4}]}, {whole: true}]}
"""


def run(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["-", *arguments], input=text)


def test_json_has_cost_bound_and_every_share_in_its_place() -> None:
    result = run(FILE, "--format", "json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["cost"] == 0.8048
    assert document["unit"] == "usd/h"
    assert document["lowerBound"] <= document["cost"]
    assert len(document["assignment"]) == 12
    assert {a["node"] for a in document["assignment"]} == {"old", "l4-0"}
    train = next(a for a in document["assignment"] if a["share"] == "train")
    assert len(train["gpus"]) == 4
    assert {a["replicas"] for a in document["assignment"] if a["share"] == "web"} == {4}


def test_text_has_machines_places_and_the_verdict() -> None:
    result = run(FILE)
    assert result.exit_code == 0
    for words in ("notebooks", "4 whole GPUs of a", "there already, in use", "gap", "USD/h"):
        assert words in result.stdout


def test_every_problem_of_a_file_at_once() -> None:
    text = """
machines:
  - {instanceType: p4de.24xlarg}
  - {name: b, gpu: L4, usdPerHour: 1}
shares:
  - {name: x, mig: 1g.10gb, machines: [c]}
existing:
  - {node: n, machine: b, gpus: [{mig: [{profile: 1g.10gb, start: 0}]}]}
"""
    result = run(text, "--format", "json")
    assert result.exit_code == 1
    findings = {f["path"]: f for f in json.loads(result.stdout)["findings"]}
    assert set(findings) == {
        "machines[0].instanceType",
        "shares[0].machines[0]",
        "existing[0].gpus[0].mig",
    }
    assert "p4de.24xlarge" in findings["machines[0].instanceType"]["fix"]


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("shares: [{name: x, mig: a, gpus: 1}]", "shares[0]", "exactly one of"),
        ("shares: [{name: x, gpus: 1, memory: 3 GX}]", "shares[0].memory", "20GiB"),
        ("shares: [{name: x, gpus: 1, memory: 18}]", "shares[0].memory", "write 18GiB"),
        ("shares: [{name: x, mps: {part: 2}}]", "shares[0].mps.part", "at most 1"),
        ("shares: [{name: x, gpus: 1, cuont: 3}]", "shares[0].cuont", "not a key here"),
        ("shares: [{name: x, gpus: 0}]", "shares[0].gpus", "at least 1: 0"),
        ("shares: []", "shares", "at least 1"),
    ],
)
def test_wrong_entries_are_named(text: str, path: str, words: str) -> None:
    result = run(f"machines: [{{gpu: L4}}]\n{text}\n", "--format", "json")
    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)["findings"]
    assert finding["path"] == path
    assert words in finding["message"]


def test_instances_that_cannot_be_there_are_refused() -> None:
    text = FILE.replace("start: 4", "start: 3")
    result = run(text)
    assert result.exit_code == 1
    assert "3g.40gb starts at 0, 4" in result.output


def test_no_price_counts_gpus_and_says_so() -> None:
    text = "machines: [{gpu: L4}]\nshares: [{name: x, count: 2, gpus: 1}]\n"
    result = run(text, "--format", "json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["cost"], document["unit"]) == (2, "gpu-hours/h")
    assert [f["code"] for f in document["findings"]] == ["pack-price-unknown"]


def test_no_room_exits_1_and_still_prints_what_has_room() -> None:
    text = FILE.replace("count: 9", "count: 900")
    result = run(text, "--format", "json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["unplaced"]["notebooks"] == 900 - sum(
        a["share"] == "notebooks" for a in document["assignment"]
    )
    assert document["findings"][0]["fix"].startswith("set machines[0].maxNodes to ")


def test_unreadable_input_is_said() -> None:
    with pytest.raises(UnreadableInputError, match="list, not a mapping"):
        CliRunner().invoke(command, ["-"], input="[1]", catch_exceptions=False)


@pytest.mark.parametrize(
    ("share", "codes", "exit_code"),
    [
        ("count: 0, mig: 1g.10gb", [], 0),
        ("mig: 9g.10gb", ["pack-share-impossible"], 1),
    ],
)
def test_nothing_to_place_is_no_search_that_stopped(
    share: str, codes: list[str], exit_code: int
) -> None:
    machines = "[{name: a, instanceType: p4de.24xlarge}, {name: b, instanceType: g6.xlarge}]"
    result = run(f"machines: {machines}\nshares: [{{name: s, {share}}}]", "--format", "json")
    answer = json.loads(result.stdout)
    assert result.exit_code == exit_code
    assert [finding["code"] for finding in answer["findings"]] == codes
    assert (answer["cost"], answer["lowerBound"], answer["nodes"]) == (0.0, 0.0, [])

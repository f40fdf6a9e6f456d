"""CPUs and host memory of shares in the buying form."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet_planner.packing.pack import pack
from gpufleet_planner.packing.problem import (
    Mode,
    Packing,
    PackingMachine,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.read import read_problem
from gpufleet_planner.packing.request import parse_request
from gpufleet_planner.packing.verify import verify
from tests.reading import yaml_data

A100 = load().gpu("A100-80GB")
BOTH = pytest.mark.parametrize("solver", [True, False])


def answer(text: str, solver: bool = True) -> Packing:
    request, findings = parse_request(yaml_data(text))
    assert request is not None, findings
    problem, findings = read_problem(request, load())
    assert problem is not None, findings
    found = pack(problem, solver=solver)
    assert verify(problem, found) == ()
    return found


def codes(text: str) -> list[tuple[str, str]]:
    request, findings = parse_request(yaml_data(text))
    if request is not None:
        _, findings = read_problem(request, load())
    return [(found.code, found.path) for found in findings]


MACHINES = """
machines:
  - {name: small, instanceType: g6.xlarge}      # 1 L4, 4 vCPU, 16 GiB
  - {name: big, instanceType: g6.8xlarge}       # 1 L4, 32 vCPU, 128 GiB
"""


@BOTH
@pytest.mark.parametrize(
    ("need", "machine"),
    [
        ("", "small"),
        ("cpu: 4, hostMemory: 16GiB", "small"),
        ("cpu: 4001m", "big"),
        ("cpu: 1, hostMemory: 17GiB", "big"),
        ("cpu: 32, hostMemory: 128GiB", "big"),
    ],
)
def test_a_share_goes_to_a_machine_with_its_cpus_and_memory(
    need: str, machine: str, solver: bool
) -> None:
    """Sizes of both types: AWS, EC2 G6 instances."""
    comma = ", " if need else ""
    found = answer(MACHINES + f"shares: [{{name: one, gpus: 1{comma}{need}}}]", solver)
    assert [node.machine for node in found.nodes] == [machine]


@BOTH
def test_slices_of_one_gpu_need_two_nodes_where_their_cpus_do(solver: bool) -> None:
    """Seven slices fit one GPU; 14 CPUs of 8 do not fit one node."""
    machine = PackingMachine(
        "m", A100, 1, A100.memory_bytes, micro_usd_per_hour=1_000_000, host=(8000, 65536)
    )
    share = ShareClass("s", 7, Mode.MIG, "1g.10gb", host=(2000, 1024))
    problem = PackingProblem({"m": machine}, (share,))
    found = pack(problem, solver=solver)
    assert (len(found.nodes), found.lower_bound) == (2, 2_000_000)
    assert verify(problem, found) == ()


def test_the_checker_counts_cpus_and_memory() -> None:
    machine = PackingMachine("m", A100, 1, A100.memory_bytes, host=(8000, 65536))
    light = ShareClass("s", 7, Mode.MIG, "1g.10gb", host=(1000, 1024))
    found = pack(PackingProblem({"m": machine}, (light,)))
    assert len(found.nodes) == 1
    for host, words in (((2000, 1024), "milli-CPUs"), ((1000, 10_000), "MiB of memory")):
        heavy = ShareClass("s", 7, Mode.MIG, "1g.10gb", host=host)
        (broken,) = verify(PackingProblem({"m": machine}, (heavy,)), found)
        assert words in broken.message


def test_what_no_machine_has_is_refused_with_both_figures() -> None:
    found = answer(MACHINES + "shares: [{name: one, gpus: 1, cpu: 64, hostMemory: 8GiB}]")
    (refused,) = found.findings
    assert refused.code == "pack-share-impossible"
    assert "small: 64 CPUs needed, 4 free; big: 64 CPUs needed, 32 free" in refused.message


def test_what_is_left_on_a_node_counts() -> None:
    text = (
        MACHINES
        + """
shares: [{name: one, gpus: 1, cpu: 4}]
existing: [{node: old, machine: big, freeCpu: %s}]
"""
    )
    assert answer(text % 4).nodes[0].existing
    assert not answer(text % 3).nodes[0].existing
    assert not answer(text % 0).nodes[0].existing


UNKNOWN: list[tuple[str, list[tuple[str, str]]]] = [
    (
        "machines: [{gpu: L4, usdPerHour: 1}]\nshares: [{name: one, gpus: 1, cpu: 1}]",
        [("pack-host-unknown", "machines[0].cpu")],
    ),
    (
        (
            "machines: [{gpu: L4, usdPerHour: 1, cpu: 8}]\n"
            "shares: [{name: one, gpus: 1, cpu: 1, hostMemory: 1GiB}]"
        ),
        [("pack-host-unknown", "machines[0].hostMemory")],
    ),
    (
        MACHINES + "shares: [{name: one, gpus: 1, cpu: 1}]\n"
        "existing: [{node: old, machine: big, gpus: [{whole: true}]}]",
        [("pack-host-unknown", "existing[0].freeCpu")],
    ),
    (
        MACHINES + "shares: [{name: one, gpus: 1, cpu: 1}]\n"
        "existing: [{node: old, machine: small, freeCpu: 5}]",
        [("pack-host-too-much", "existing[0].freeCpu")],
    ),
    (
        MACHINES + "shares: [{name: one, gpus: 1, cpu: many}]",
        [("pack-request-invalid", "shares[0].cpu")],
    ),
]


@pytest.mark.parametrize(("text", "expected"), UNKNOWN)
def test_what_is_not_known_is_asked_for(text: str, expected: list[Any]) -> None:
    assert codes(text) == expected

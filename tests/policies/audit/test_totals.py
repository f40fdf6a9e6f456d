"""Money of findings together: each machine once, and never more than the fleet can cost."""

from math import ceil
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.run import Audit, audit
from gpufleet_policies.money.attribution import MoneyClaim, attributed, totals
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY


def fleet(*pools: dict[str, Any]) -> dict[str, Any]:
    named = [{"name": f"pool{number}", **pool} for number, pool in enumerate(pools)]
    return {
        "catalogue": "2026.11",
        "platform": "eks",
        "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.35"},
        "pools": named,
    }


def server(
    name: str, replicas: int, args: list[str], limits: dict[str, int], **pod: Any
) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "vllm/vllm-openai:v0.11.0",
        "args": ["--model", "Qwen/Qwen2.5-0.5B-Instruct", *args],
        "resources": {"limits": limits},
    }
    spec = {
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [container],
        **pod,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    }


def audited(*documents: dict[str, Any]) -> Audit:
    inputs = [
        Input(f"{number}.yaml", content=yaml.safe_dump(document).encode())
        for number, document in enumerate(documents)
    ]
    return audit(inputs, read_settings({"profile": "strict"}), TODAY)


def test_a_server_and_the_pool_under_it_are_one_machine() -> None:
    """The tutorial of time-slicing and MPS: one g6e.xlarge, 1,359 USD a month."""
    pool = {
        "gpu": "L40S",
        "nodes": {"min": 1, "max": 1},
        "sharing": {"timeSlicing": {"replicas": 10}},
    }
    greedy = server(
        "chat",
        10,
        ["--gpu-memory-utilization", "0.9", "--max-model-len", "4096"],
        {"nvidia.com/gpu.shared": 1},
        nodeSelector={"gpufleet.dev/pool": "pool0"},
    )
    result = audited(fleet(pool), greedy)
    standing = [one for one in result.findings if one.money and one.money.kind == "standing"]
    assert len({str(one.locator) for one in standing}) == 2
    assert totals(result.findings, result.spend).standing == 1359


def test_what_machines_cost_bounds_what_is_said_about_them() -> None:
    claims = [MoneyClaim(name, 60, ("p",), machines=("p",)) for name in ("v", "w")]
    assert attributed(claims, {"p": 100}) == {"v": 60, "w": 40}
    elsewhere = MoneyClaim("x", 60, ("p", "q"), machines=("p", "q"))
    assert attributed([*claims, elsewhere], {"p": 100})["x"] == 60, "q is not bounded"


POOLS = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from(["L4", "L40S", "A10G"]),
        "nodes": st.tuples(st.integers(0, 2), st.integers(0, 2)).map(
            lambda drawn: {"min": drawn[0], "max": max(1, sum(drawn))}
        ),
    },
    optional={
        "sharing": st.sampled_from(
            [{"mps": {"replicas": 4}}, {"timeSlicing": {"replicas": 4}}, {"exclusive": {}}]
        )
    },
)
SERVERS = st.tuples(
    st.integers(1, 12),
    st.sampled_from([[], ["--gpu-memory-utilization", "0.9"], ["--tensor-parallel-size", "1"]]),
    st.sampled_from([{"nvidia.com/gpu": 1}, {"nvidia.com/gpu": 2}, {"nvidia.com/gpu.shared": 1}]),
    st.sampled_from([{}, {"nodeSelector": {"gpufleet.dev/pool": "pool0"}}]),
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(POOLS, min_size=1, max_size=3), st.lists(SERVERS, max_size=4))
def test_totals_are_within_the_bounds_of_the_fleet(pools: Any, servers: Any) -> None:
    documents = [
        server(f"server{number}", replicas, args, limits, **pod)
        for number, (replicas, args, limits, pod) in enumerate(servers)
    ]
    result = audited(fleet(*pools), *documents)
    if result.spend is None or not result.spend.exposure.is_bounded:
        return
    found = totals(result.findings, result.spend)
    most = ceil((result.spend.exposure.micro_usd_per_hour or 0) * 730 / 1_000_000)
    for amount in (found.waste, found.standing, found.exposure):
        assert amount is None or amount <= most

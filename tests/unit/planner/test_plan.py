"""Plans: every file gives a FleetSpec that compiles, passes the policies, and holds its pods."""

import time
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.fleet import Fleet, compile_document
from gpufleet.planner.difference import difference
from gpufleet.planner.manifest import manifests
from gpufleet.planner.plan import Plan, plan
from gpufleet.planner.plan_as_dict import plan_as_dict
from gpufleet.planner.scaling import autoscaling_hint
from gpufleet.planner.spec_text import spec_text

EXAMPLES = Path(__file__).parents[3] / "examples" / "plan"
NAMES = ("team", "slices", "sandbox-slices", "sandbox-shared", "sandbox-training")


def example(name: str) -> dict[str, Any]:
    return yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))


def service(name: str = "chat", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "workload": "inference",
        "model": "Llama-3.1-8B",
        "context": 4096,
        **fields,
    }


def file(*workloads: dict[str, Any], **head: Any) -> dict[str, Any]:
    return {
        "platform": "eks",
        "cluster": {"name": "test", "region": "us-east-1"},
        "workloads": list(workloads),
        **head,
    }


def errors(answer: Plan) -> list[str]:
    return [f.code for f in answer.findings if f.severity.value == "error"]


# -- a scheduler: pods onto nodes by selector, toleration and resource ----------------------------


def schedule(fleet: Fleet, documents: tuple[dict[str, Any], ...], lost: str | None = None) -> int:
    """Pods that stay pending, with every pool at its largest size. `lost` is a pool that is one
    device short of each resource it offers on one node."""
    nodes = [
        (pool, dict(pool.advertised)) for pool in fleet.pools for _ in range(pool.nodes.maximum)
    ]
    if lost is not None:
        free = next(free for pool, free in nodes if pool.name == lost)
        for resource in free:
            free[resource] -= next(p for p in fleet.pools if p.name == lost).partition.replicas
    waiting = 0
    pods: list[dict[str, Any]] = []
    for document in documents:
        spec = document["spec"]
        count = spec.get("replicas", spec.get("completions"))
        pods += [spec["template"]["spec"]] * count
    for pod in sorted(pods, key=lambda pod: -max(_asked(pod).values())):
        asked = _asked(pod)
        for pool, free in nodes:
            labels, keys = pool.labels, {t["key"] for t in pod["tolerations"]}
            fits = all(labels.get(k) == v for k, v in pod["nodeSelector"].items())
            fits = fits and all(t.key in keys for t in pool.taints)
            if fits and all(free.get(r, 0) >= n for r, n in asked.items()):
                for resource, number in asked.items():
                    free[resource] -= number
                break
        else:
            waiting += 1
    return waiting


def _asked(pod: dict[str, Any]) -> dict[str, int]:
    limits = pod["containers"][0]["resources"]["limits"]
    return {name: int(n) for name, n in limits.items() if name.startswith("nvidia.com/")}


@pytest.mark.parametrize("name", NAMES)
def test_every_pod_of_a_plan_runs_on_what_was_promised(name: str) -> None:
    answer = plan(example(name))
    assert errors(answer) == []
    assert answer.fleet is not None
    documents = manifests(answer)
    assert len(documents) == len(answer.workloads)
    assert schedule(answer.fleet, documents) == 0


@pytest.mark.parametrize("name", NAMES)
def test_without_one_gpu_at_least_one_pod_waits(name: str) -> None:
    answer = plan(example(name))
    assert answer.fleet is not None
    documents = manifests(answer)
    full = [n for n, pool in answer.pools if not pool.spare_gpus and pool.key.sharing == "whole"]
    full += [n for n, pool in answer.pools if pool.layout is not None and _tight(pool)]
    for name, pool in answer.pools:
        if pool.layout is None and pool.key.sharing != "whole":
            replicas = pool.members[0][1].share.replicas
            spare = pool.nodes * pool.key.machine.gpus * replicas
            spare -= sum(option.devices for _, option in pool.members)
            full += [name] if spare < replicas else []
    assert full
    for pool in full:
        assert schedule(answer.fleet, documents, lost=pool) >= 1


def _tight(pool: Any) -> bool:
    wanted: dict[str, int] = {}
    for _, option in pool.members:
        wanted[option.share.profile] = wanted.get(option.share.profile, 0) + option.devices
    return any(pool.layout.offered[name] == count for name, count in wanted.items())


@pytest.mark.parametrize("name", NAMES)
def test_the_written_file_compiles_to_the_same_fleet(name: str) -> None:
    answer = plan(example(name))
    text = spec_text(answer)
    compiled = compile_document(text)
    assert compiled.deployable
    assert compiled.fleet is not None
    assert answer.fleet is not None
    assert [p.name for p in compiled.fleet.pools] == [n for n, _ in answer.pools]
    assert compiled.fleet.spend == answer.fleet.spend
    assert compiled.fleet.spec == answer.fleet.spec


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_deterministic(name: str) -> None:
    assert spec_text(plan(example(name))) == spec_text(plan(example(name)))


@pytest.mark.parametrize("name", NAMES)
def test_cost_and_bound(name: str) -> None:
    answer = plan(example(name))
    spent, bound = answer.usd_per_hour, answer.bound_usd_per_hour
    assert spent is not None
    assert bound is not None
    assert 0 < bound <= spent
    document = plan_as_dict(answer, {})
    assert document["cost"]["usdPerHour"] == f"{spent:.6f}"
    assert all(pool["derivation"] for pool in document["pools"])


def test_spot_costs_the_same_in_plan_and_fleet() -> None:
    answer = plan(example("team"))
    assert answer.fleet is not None
    planned = dict(answer.pools)
    bought = {pool.name: pool for pool in answer.fleet.pools}
    assert planned.keys() == bought.keys()
    spot = planned["batch-l40s-spot"]
    assert spot.key.machine.buy == "spot"
    for name, pool in planned.items():
        assert bought[name].hourly_micro_usd == pool.key.machine.micro_usd
        assert bought[name].spend.expected == pool.micro_usd


def test_every_pool_says_why() -> None:
    text = spec_text(plan(example("team")))
    for words in (
        "# chat: Llama-3.1-8B, inference, bf16",
        "GiB with margin (modelled)",
        "GiB usable (measured)",
        "instead of",
        "karpenter-aws-prices, 2026-07-20",
        "gap",
    ):
        assert words in text


def test_shares_of_one_machine_are_bought_once() -> None:
    four = [service(f"w{i}", model="Llama-3.2-1B", context=2048, gpus=["L4"]) for i in range(4)]
    alone = plan(file(four[0]))
    together = plan(file(*four))
    assert together.usd_per_hour == alone.usd_per_hour
    assert len(together.pools) == 1
    assert together.pools[0][1].nodes == 1


def test_mps_and_mixed_mig_do_not_meet_on_one_cluster() -> None:
    rows = [
        service("a", model="Llama-3.2-1B", context=2048, gpus=["L4"], replicas=4),
        service("b", gpus=["A100-80GB"], isolation="hardware", replicas=16),
    ]
    answer = plan(file(*rows))
    assert errors(answer) == []
    kinds = {pool.key.sharing.split("-")[0] for _, pool in answer.pools}
    assert not {"mps", "mig"} <= kinds


def test_gke_cuts_all_gpus_of_a_pool_alike() -> None:
    rows = [
        service("a", model="Qwen2.5-1.5B", context=2048, isolation="hardware", replicas=14),
        service("b", isolation="hardware", replicas=3),
    ]
    answer = plan(
        file(
            *rows,
            platform="gke",
            gpus=["A100-40GB"],
            cluster={"name": "test", "region": "us-central1"},
        )
    )
    assert errors(answer) == []
    assert answer.fleet is not None
    assert schedule(answer.fleet, manifests(answer)) == 0
    for _, pool in answer.pools:
        if pool.layout is not None:
            ((devices, count),) = pool.layout.gpus
            assert len(devices) == 1
            assert count == pool.key.machine.gpus


def test_own_hardware_is_not_more_than_there_is() -> None:
    rows = [service("a", model="Llama-3.1-70B", replicas=2)]
    head = {
        "platform": "openshift",
        "cluster": {"name": "test"},
        "hardware": [{"gpu": "H100", "gpusPerNode": 8, "nodes": 1, "usdPerGpuHour": "2.10"}],
    }
    answer = plan(file(*rows, **head))
    assert errors(answer) == []
    assert answer.usd_per_hour is not None
    assert float(answer.usd_per_hour) == pytest.approx(16.8)
    rows = [service("a", model="Llama-3.1-70B", replicas=5)]
    assert "nothing-fits" in errors(plan(file(*rows, **head)))
    two = [service(n, model="Llama-3.1-70B", replicas=3) for n in ("a", "b")]
    assert "no-deployable-choice" in errors(plan(file(*two, **head)))


def test_unknown_names_are_errors_with_the_nearest() -> None:
    answer = plan(file(service(model="Lama-3.1-8B"), gpus=["H1000"]))
    found = {f.code: f for f in answer.findings}
    assert set(found) == {"model-unknown", "gpu-unknown"}
    assert "Llama-3.1-8B" in (found["model-unknown"].fix or "")
    assert found["model-unknown"].path == "workloads[0].model"
    assert "H100-80GB" in (found["gpu-unknown"].fix or "")
    assert answer.spec is None


def test_all_problems_of_a_file_come_at_once() -> None:
    answer = plan(
        file(
            service(contxt=1),
            service(mig="1g.10gb"),
            service("x", target={"tokenMs": 10, "tokens": 5}),
            {"name": "n", "workload": "notebook", "memoryGib": 500},
        )
    )
    found = [f"{f.code} {f.path}" for f in answer.findings]
    assert found[:2] == ["plan-file-invalid workloads[0].contxt", "plan-decides workloads[1].mig"]
    assert "target-not-for-workload workloads[2].target.tokens" in found
    assert "nothing-fits workloads[3]" in found
    assert "write context" in (answer.findings[0].fix or "")


@pytest.mark.parametrize(
    ("change", "message", "fix"),
    [
        ({"workloads": []}, "at least one workload", "write workloads:"),
        ({"workloads": [3]}, "must be a mapping", "write {name: chat"),
        ({"workloads": [{"name": "a", "workload": "inference"}]}, "needed and missing", "add "),
    ],
)
def test_every_structural_problem_of_a_file_says_what_to_write(
    change: dict[str, Any], message: str, fix: str
) -> None:
    found = plan({**file(service()), **change, "hardware": 3}).findings
    invalid = [f for f in found if f.code == "plan-file-invalid"]
    assert "hardware" in {f.path for f in invalid}
    assert all(f.fix for f in invalid)
    assert any(message in f.message and fix in (f.fix or "") for f in invalid)
    assert all("Input" not in f.message for f in invalid)


def test_contradictory_targets_stop_the_plan() -> None:
    answer = plan(
        file(
            service(
                workload="lora",
                target={"tokens": 10**10, "deadlineHours": 1, "budgetUsd": "10"},
            )
        )
    )
    (problem,) = [f for f in answer.findings if f.severity.value == "error"]
    assert problem.code == "target-contradiction"
    assert problem.evidence["targets"] == ["deadlineHours", "budgetUsd"]


def test_a_budget_that_is_too_small_is_an_error() -> None:
    answer = plan(file(service(), budget={"usdPerHour": "0.5"}))
    assert errors(answer) == ["budget-exceeded"]


def test_without_prices_gpu_hours_are_counted() -> None:
    head = {
        "platform": "openshift",
        "cluster": {"name": "test"},
        "hardware": [{"gpu": "L4", "gpusPerNode": 2, "nodes": 4}],
    }
    answer = plan(file(service(), **head))
    assert errors(answer) == []
    assert answer.usd_per_hour is None
    assert answer.gpu_hours == 2
    assert "price-missing" in {f.code for f in answer.findings}
    assert "GPU-hours" in spec_text(answer)


def test_manifests_say_what_the_policies_read() -> None:
    answer = plan(example("team"))
    documents = {d["metadata"]["name"]: d for d in manifests(answer)}
    chat = documents["chat"]["spec"]["template"]
    notes = chat["metadata"]["annotations"]
    assert notes["gpufleet.dev/model-params-b"] == "8.03"
    assert notes["gpufleet.dev/mode"] == "inference"
    assert notes["gpufleet.dev/latency-slo-ms"] == "60"
    assert chat["spec"]["containers"][0]["resources"]["requests"]["cpu"].endswith("m")
    assert documents["tune"]["kind"] == "Job"
    assert documents["tune"]["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert documents["labs"]["kind"] == "StatefulSet"
    hints = {w.entry.name: autoscaling_hint(w) for w in answer.workloads}
    assert hints["tune"] is None
    assert hints["chat"] is not None
    assert hints["chat"]["maxReplicas"] == documents["chat"]["spec"]["replicas"]


def test_team_quotas_never_exceed_the_fleet() -> None:
    answer = plan(example("team"))
    assert answer.spec is not None
    teams = answer.spec["queues"]["teams"]
    assert {t["name"] for t in teams} == {"product", "research"}
    assert sum(t["share"] for t in teams) <= 1


def test_a_difference_names_pools_and_money() -> None:
    before = plan(file(service(gpus=["L40S"])))
    after = plan(file(service(gpus=["L4"])))
    assert before.fleet is not None
    assert after.fleet is not None
    told = difference(before.fleet, after.fleet)
    assert told["added"] == ["inference-l4: at most 1 x g6.xlarge, exclusive"]
    assert told["removed"] == ["inference-l40s: at most 1 x g6e.xlarge, exclusive"]
    assert told["saved"] == {"usdPerHour": "1.0562", "usdPerMonth": "771.03"}
    same = difference(after.fleet, after.fleet)
    assert (same["added"], same["removed"], same["changed"]) == ([], [], [])


def test_200_workloads_are_planned_in_seconds() -> None:
    models = ["Llama-3.2-1B", "Llama-3.1-8B", "Qwen3-14B", "Gemma-2-9b", "gpt-oss-20b"]
    rows: list[dict[str, Any]] = []
    for i in range(200):
        if i % 5 == 4:
            memory = 4 + i % 3 * 4
            rows.append({"name": f"w{i}", "workload": "notebook", "count": 2, "memoryGib": memory})
            continue
        rows.append(
            service(
                f"w{i}",
                model=models[i % 5],
                context=2048 * (1 + i % 3),
                batch=1 + i % 17,
                prompt=512,
                output=128,
            )
        )
    before = deepcopy(rows)
    plan(file(service()))  # the catalogue is parsed once for everybody
    start = time.process_time()
    answer = plan(file(*rows))
    spent = time.process_time() - start
    assert rows == before
    assert errors(answer) == []
    assert answer.fleet is not None
    assert schedule(answer.fleet, manifests(answer)) == 0
    assert answer.bound_usd_per_hour is not None
    assert answer.usd_per_hour is not None
    assert (
        answer.bound_usd_per_hour
        <= answer.usd_per_hour
        < answer.bound_usd_per_hour * Decimal("1.1")
    )
    # The budget is 5 s; a loaded machine gets twice as much here.
    assert spent < 10


@pytest.mark.parametrize("part", [1, 2, 3, 5, 8, 13])
def test_no_bound_is_above_the_plan(part: int) -> None:
    """Few workloads of several intents, each time others: the bound holds and is often reached."""
    rows = [
        service("a", replicas=part, isolation="hardware", model="Qwen2.5-1.5B"),
        service("b", model="Llama-3.2-3B", batch=part),
        {"name": "n", "workload": "notebook", "count": part, "memoryGib": 4 + part},
        {
            "name": "t",
            "workload": "lora",
            "model": "Llama-3.2-1B",
            "context": 1024,
            "target": {"tokens": 10**6 * part},
        },
    ]
    for gpus in ([], ["A100-80GB"], ["L4", "H100-80GB"]):
        answer = plan(file(*rows, gpus=gpus))
        assert answer.usd_per_hour is not None, answer.findings
        assert answer.bound_usd_per_hour is not None
        assert answer.bound_usd_per_hour <= answer.usd_per_hour + Decimal("0.000001")

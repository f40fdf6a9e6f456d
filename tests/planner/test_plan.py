"""Plans: every file gives a FleetSpec that compiles, passes the policies, and holds its pods."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_document
from gpufleet_planner.planning.manifest import manifests, plan_as_dict, spec_text
from gpufleet_planner.planning.plan import plan
from tests.planner.plan_files import NAMES, errors, example, file, offered, service
from tests.planner.pod_schedule import schedule


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


RHCOS = {"cpus": 64, "memoryGib": 512, "template": "rhcos-gpu"}


@pytest.mark.parametrize(
    ("head", "architectures"),
    [({}, {"amd64"}), ({"arm": True}, {"arm64"}), ({"gpus": ["T4G"]}, {"arm64"})],
    ids=["plain", "arm", "named"],
)
def test_arm_machines_are_planned_only_where_somebody_says_so(
    head: dict[str, Any], architectures: set[str]
) -> None:
    labs = {"name": "labs", "workload": "notebook", "count": 4, "memoryGib": 6}
    answer = plan(file(labs, **head))
    assert errors(answer) == []
    assert {pool.key.machine.architecture for _, pool in answer.pools} == architectures


def _tight(pool: Any) -> bool:
    wanted: dict[str, int] = {}
    for _, option in pool.members:
        wanted[option.share.profile] = wanted.get(option.share.profile, 0) + option.devices
    return any(offered(pool.layout)[name] == count for name, count in wanted.items())


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
        assert bought[name].spend.expected == pool.nodes * (pool.key.machine.micro_usd or 0)


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


def test_without_prices_gpu_hours_are_counted() -> None:
    head = {
        "platform": "openshift",
        "cluster": {"name": "test"},
        "hardware": [{"gpu": "L4", "gpusPerNode": 2, "nodes": 4, "openshift": RHCOS}],
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


def test_team_quotas_never_exceed_the_fleet() -> None:
    answer = plan(example("team"))
    assert answer.spec is not None
    teams = answer.spec["queues"]["teams"]
    assert {t["name"] for t in teams} == {"product", "research"}
    assert sum(t["share"] for t in teams) <= 1


def test_ampere_is_partitioned_with_a_reboot_where_a_hypervisor_may_forbid_the_reset() -> None:
    """NVIDIA/gpu-operator#668; A100 needs the reset, H100 does not."""
    for gpu, environment in (("A100-80GB", {"WITH_REBOOT": "true"}), ("H100-80GB", {})):
        row = service(gpus=[gpu], isolation="hardware", replicas=16, model="Llama-3.2-1B")
        answer = plan(file(row))
        assert errors(answer) == []
        assert answer.fleet is not None
        assert answer.fleet.addons.gpu_operator.mig_env == environment
        assert "mig-mode-may-need-reboot" not in {f.code for f in answer.findings}


@pytest.mark.parametrize(("wide", "narrow", "waits"), [(3, 4, ["workloads[1]"]), (2, 8, [])])
def test_pods_that_may_wait_for_ever_after_smaller_ones_are_named(
    wide: int, narrow: int, waits: list[str]
) -> None:
    """Copies of four GPUs and of one fill two machines of eight. kube-scheduler puts each pod on
    the emptiest node: four small pods leave six GPUs on each, which is room for two of three copies
    of four; eight leave four on each, which is room for two of two."""
    small = service("small", batch=16, isolation="hardware", replicas=narrow)
    large = service("large", model="Llama-3.1-70B", replicas=wide, parallelism={"tensor": 4})
    answer = plan(file(small, large, gpus=["A100-40GB"]))
    (pool,) = (pool for _, pool in answer.pools)
    assert (pool.nodes, pool.key.machine.gpus, pool.spare_gpus) == (2, 8, 0)
    assert [f.path for f in answer.findings if f.code == "larger-pods-wait"] == waits

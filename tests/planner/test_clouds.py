"""Plans over several machines on clouds: zones, networks, images, key by key, without an engine.

Numbers of interfaces: EKS by AWS, EC2 User Guide, network cards of accelerated instances; GKE by
the test pods of GoogleCloudPlatform/container-engine-accelerators (read 2026-11-23).
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.planning.manifest import manifests, planned_objects, spec_text
from gpufleet_planner.planning.plan import PlannedFleet, plan
from gpufleet_policies.commands.audit import command as audit
from tests.planner.plan_files import service

MIRROR = "registry.example.com/mirror"
GKE = {"platform": "gke", "cluster": {"name": "ml", "region": "us-central1"}}
TOKYO = {"platform": "gke", "cluster": {"name": "ml", "region": "asia-northeast1"}}
"""Of A3 machines, only prices of A3 Mega are known there."""
EKS = {"platform": "eks", "cluster": {"name": "ml", "region": "us-east-1"}}
IMAGE = "registry.example.com/train:1.0"
UNKNOWN = {"price-missing", "image-not-pinned"}
"""Notes of such plans: no price of flex start is known for some machines, and the newest node
image is taken."""


def planned(where: dict[str, Any], *rows: dict[str, Any], **more: Any) -> PlannedFleet:
    return plan({**where, "environment": "prod", "workloads": list(rows), **more})


def job(gpu: str, **fields: Any) -> dict[str, Any]:
    """Tokens in two days for which one machine of any kind here is too slow."""
    return {
        "name": "pretrain",
        "workload": "pre-training",
        "model": "Llama-3.1-8B",
        "context": 8192,
        "image": IMAGE,
        "gpus": [gpu],
        "target": {"tokens": 3 * 10**10, "deadlineHours": 48},
        **fields,
    }


def serving(**fields: Any) -> dict[str, Any]:
    """A rate that takes more copies than a machine holds."""
    return service(
        model="Llama-3.1-70B",
        context=8192,
        prompt=1024,
        output=256,
        batch=16,
        image="vllm/vllm-openai:v0.11.0",
        gpus=["H100-80GB"],
        target={"requestsPerSecond": 60},
        **fields,
    )


def told(answer: PlannedFleet) -> set[str]:
    return {f.code for f in answer.findings if f.severity.value != "info"}


def pool_of(answer: PlannedFleet) -> dict[str, Any]:
    assert answer.spec is not None, answer.findings
    (pool,) = answer.spec["pools"]
    return pool


def all_containers(document: dict[str, Any]) -> list[dict[str, Any]]:
    spec = document["spec"]["template"]["spec"]
    return [*spec["containers"], *spec.get("initContainers", [])]


@pytest.mark.parametrize(
    ("where", "gpu", "machine", "fabric", "networks"),
    [
        (GKE, "H100-80GB", "a3-highgpu-8g", "tcpx", 5),
        (TOKYO, "H100-80GB", "a3-megagpu-8g", "tcpxo", 9),
        (GKE, "H200-141GB", "a3-ultragpu-8g", "rdma", 10),
        (GKE, "B200-180GB", "a4-highgpu-8g", "rdma", 10),
        (EKS, "H100-80GB", "p5.48xlarge", "efa", 32),
        (EKS, "B200-180GB", "p6-b200.48xlarge", "efa", 8),
    ],
)
def test_a_job_over_machines_is_given_what_was_assumed(
    where: dict[str, Any], gpu: str, machine: str, fabric: str, networks: int
) -> None:
    """Key by key: zone, network, machines, GPUs, image, settings of the program."""
    region = where["cluster"]["region"]
    zones = [f"{region}{'' if fabric == 'efa' else '-'}{letter}" for letter in "ab"]
    answer = planned(
        where, job(gpu), zones=zones, spec={"addons": {"images": {"registry": MIRROR}}}
    )
    assert told(answer) <= UNKNOWN, answer.findings
    (work,) = answer.workloads
    option, pool = work.option, pool_of(answer)
    assert pool["instanceTypes"] == [machine] == [option.machine.name]
    assert pool["zones"] == zones[:1]
    assert f"in {zones[0]}, the first of {zones[0]}, {zones[1]}" in spec_text(answer)
    assert pool["fabric"] == option.fabric == fabric
    assert list(pool["capacity"][0]) == [option.machine.buy]
    (document,) = manifests(answer)
    template = document["spec"]["template"]
    machines = document["spec"]["completions"]
    assert machines == document["spec"]["parallelism"] == pool["nodes"]["max"] == option.machines
    assert machines > 1
    assert template["spec"]["nodeSelector"]["gpufleet.dev/pool"] == pool["name"]
    main, *beside = all_containers(document)
    limits = main["resources"]["limits"]
    assert int(limits["nvidia.com/gpu"]) * machines == option.reached.gpus_each
    if fabric == "efa":
        assert int(limits["vpc.amazonaws.com/efa"]) == networks
    else:
        listed = json.loads(template["metadata"]["annotations"]["networking.gke.io/interfaces"])
        assert len(listed) == networks
    assert main["image"] == IMAGE  # the author's own
    assert all(one["image"].startswith(f"{MIRROR}/") for one in beside)
    assert bool(beside) == fabric.startswith("tcpx")
    assert "/dev/shm" in {mount["mountPath"] for mount in main["volumeMounts"]}
    settings(answer, main)
    names = [one["kind"] for one in planned_objects(answer)]
    assert names == ["Service", "Job"]


def settings(answer: PlannedFleet, container: dict[str, Any]) -> None:
    """Variables of everything that memory and time rest on."""
    (work,) = answer.workloads
    reached = work.option.reached
    made, split = reached.training, reached.parallel
    assert made is not None
    env = {one["name"]: one.get("value") for one in container["env"]}
    assumed = {
        "FRAMEWORK": made.framework.value,
        "ARITHMETIC": made.arithmetic.value,
        "PRECISION": made.precision.value,
        "OPTIMIZER": made.optimizer.value,
        "MICRO_BATCH": str(made.batch),
        "ACCUMULATION": str(made.accumulation),
        "CHECKPOINTING": made.checkpointing.value,
        "LOSS": made.loss.value,
        "SHARDING": split.sharding.value,
        "DATA": str(split.data),
        "CONTEXT": str(made.context),
    }
    assert env.items() >= {f"GPUFLEET_{name}": text for name, text in assumed.items()}.items()
    assert env["PET_NNODES"] == str(work.option.machines)
    assert env["PET_NPROC_PER_NODE"] == container["resources"]["limits"]["nvidia.com/gpu"]


@pytest.mark.parametrize(("where", "letters"), [(GKE, "-a -b"), (EKS, "a b")])
def test_services_over_machines_use_every_zone(where: dict[str, Any], letters: str) -> None:
    zones = [where["cluster"]["region"] + letter for letter in letters.split()]
    answer = planned(where, serving(), zones=zones)
    assert told(answer) <= UNKNOWN, answer.findings
    (work,) = answer.workloads
    pool = pool_of(answer)
    assert pool["zones"] == zones
    assert "fabric" not in pool
    assert pool["nodes"]["max"] == work.option.machines > 1
    (document,) = manifests(answer)
    (container,) = all_containers(document)
    split = work.option.reached.parallel
    gpus = int(container["resources"]["limits"]["nvidia.com/gpu"])
    assert gpus == split.serving_gpus
    assert f"--tensor-parallel-size={split.tensor}" in container["args"]
    assert document["spec"]["replicas"] == work.option.reached.copies
    assert document["spec"]["replicas"] * gpus <= 8 * pool["nodes"]["max"]


@pytest.mark.parametrize(
    ("where", "row", "zones"),
    [
        (GKE, job("H100-80GB"), ["us-central1-a"]),
        (TOKYO, job("H100-80GB"), ["asia-northeast1-b"]),
        (GKE, serving(), ["us-central1-a", "us-central1-b"]),
        (EKS, job("H100-80GB"), ["us-east-1a"]),
        (EKS, serving(), ["us-east-1a", "us-east-1b"]),
    ],
)
def test_the_written_plan_is_audited_without_findings(
    where: dict[str, Any], row: dict[str, Any], zones: list[str], tmp_path: Path
) -> None:
    """With further requirements of production fleets: metrics, and a queue for the job's pods."""
    source, pods, fleet = (tmp_path / f"{part}.yaml" for part in ("in", "pods", "fleet"))
    rows = [{**row, "team": "research"}]
    spec = {"monitoring": {"backend": "prometheus", "queryUrl": "http://prometheus:9090"}}
    data = {**where, "environment": "prod", "workloads": rows, "zones": zones, "spec": spec}
    source.write_text(yaml.safe_dump(data), "utf-8")
    done = CliRunner().invoke(plan_command, [str(source), "--manifests", str(pods)])
    assert done.exit_code == 0, done.output
    fleet.write_text(done.stdout, "utf-8")
    found = CliRunner().invoke(audit, [str(pods), str(fleet)])
    assert "no errors, no warnings" in found.output, found.output


@pytest.mark.parametrize(
    ("where", "row", "code", "zone"),
    [
        (GKE, job("H100-80GB"), "gke-zone-missing", "us-central1-a"),
        (
            {"platform": "openshiftAws", "cluster": {"name": "ml", "region": "us-east-1"}},
            service(),
            "openshift-zones-missing",
            "us-east-1a",
        ),
    ],
)
def test_a_zone_that_is_needed_is_asked_for_in_the_file(
    where: dict[str, Any], row: dict[str, Any], code: str, zone: str
) -> None:
    """No dearer choice is made in its place."""
    (found,) = [f for f in planned(where, row).findings if f.severity.value == "error"]
    assert (found.code, found.path) == (code, "zones")
    assert f"zones: [{zone}]" in (found.fix or "")
    assert planned(where, row, zones=[zone]).spec is not None


def test_a_zone_of_another_region_is_named_where_it_is_written() -> None:
    def paths(**more: Any) -> list[tuple[str, str]]:
        own = more.pop("own", [])
        rows = [service(), job("H100-80GB", zones=own)]
        found = planned(GKE, *rows, **more).findings
        return [(f.code, f.path) for f in found if f.severity.value == "error"]

    assert paths(zones=["us-central1-a", "us-east1-b"]) == [("zone-not-of-region", "zones[1]")]
    assert paths(zones=["us-central1-a"], own=["us-east1-b"]) == [
        ("zone-not-of-region", "workloads[1].zones[0]")
    ]


def test_workloads_have_zones_of_their_own() -> None:
    answer = planned(
        GKE, serving(), job("B200-180GB", zones=["us-central1-b"]), zones=["us-central1-a"]
    )
    assert answer.spec is not None, answer.findings
    zones = {pool["name"]: pool["zones"] for pool in answer.spec["pools"]}
    assert zones == {
        "inference-h100-80gb": ["us-central1-a"],
        "training-b200-180gb-flexstart": ["us-central1-b"],
    }


def test_zones_are_no_more_than_nodes_where_nodes_are_divided_among_them() -> None:
    where = {"platform": "openshiftAws", "cluster": {"name": "ml", "region": "us-east-1"}}
    answer = planned(where, service(), zones=["us-east-1a", "us-east-1b", "us-east-1c"])
    assert pool_of(answer)["zones"] == ["us-east-1a"]


def test_a_platform_without_zones_says_so_of_the_file() -> None:
    machine = {"cpus": 64, "memoryGib": 512, "template": "ubuntu"}
    own = [{"gpu": "L4", "gpusPerNode": 2, "nodes": 2, "vsphere": machine}]
    answer = planned(
        {"platform": "vsphere", "cluster": {"name": "lab"}}, service(), zones=["a"], hardware=own
    )
    found = [(f.code, f.path) for f in answer.findings if f.severity.value == "error"]
    assert found == [("zones-not-on-platform", "zones")]


def test_a_run_is_not_longer_than_its_machines_stay() -> None:
    """Flex start takes machines back after seven days (Google, Dynamic Workload Scheduler); of A4
    there is nothing else to buy but spot and reservations."""
    long = job("B200-180GB", target={"tokens": 10**12}, zones=["us-central1-b"])
    answer = planned(GKE, long)
    (work,) = answer.workloads
    assert work.option.machine.buy == "flexStart"
    assert work.option.reached.run_hours is not None
    assert work.option.reached.run_hours <= 168
    (found,) = [
        f for f in planned(GKE, {**long, "mostGpus": 8}).findings if f.severity.value == "error"
    ]
    assert found.code == "run-outlasts-machines"
    assert "168 h" in found.message
    assert "interruptible: true" in (found.fix or "")
    spot = planned(GKE, {**long, "mostGpus": 8, "interruptible": True})
    assert spot.workloads[0].option.machines == 1

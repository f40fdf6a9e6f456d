"""What a plan assumes is what its fleet and its manifests ask for."""

from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.cli.size import command
from gpufleet.planner.explanation.explain import explain_option
from gpufleet.planner.manifest import manifests
from gpufleet.planner.plan import PlannedFleet, plan
from gpufleet.planner.spec_text import spec_text
from tests.unit.planner.plan_files import file

VLLM = "vllm/vllm-openai:v0.11.0"


def planned(**fields: Any) -> PlannedFleet:
    answer = plan(file({"name": "work", **fields}))
    assert answer.fleet is not None, answer.findings
    return answer


def pod(answer: PlannedFleet) -> dict[str, Any]:
    (document,) = manifests(answer)
    return document["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("gpu", "interfaces"),
    [("B200-180GB", "8"), ("H100-80GB", "32"), ("A100-40GB", "4")],
)
def test_a_job_over_machines_gets_the_network_it_was_timed_with(gpu: str, interfaces: str) -> None:
    """Numbers of EFA interfaces: AWS, EC2 User Guide, network cards of accelerated instances."""
    answer = planned(
        workload="pre-training",
        model="Llama-3.1-8B",
        context=8192,
        gpus=[gpu],
        target={"tokens": 15 * 10**12, "deadlineHours": 20_000},
    )
    (work,) = answer.workloads
    assert work.option.machines > 1
    assert answer.spec is not None
    (pool,) = answer.spec["pools"]
    assert pool["fabric"] == work.option.fabric == "efa"
    limits = pod(answer)["containers"][0]["resources"]["limits"]
    assert limits["vpc.amazonaws.com/efa"] == interfaces
    assert limits["nvidia.com/gpu"] == "8"
    assert explain_option(work.need, work.option)


def test_pods_of_several_gpus_share_memory() -> None:
    service = {
        "workload": "inference",
        "model": "Llama-3.1-70B",
        "context": 8192,
        "image": VLLM,
        "gpus": ["H100-80GB"],
    }
    large = planned(**service)
    (work,) = large.workloads
    assert work.option.reached.parallel.tensor > 1
    spec = pod(large)
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount["mountPath"] == "/dev/shm"
    assert spec["volumes"] == [{"name": mount["name"], "emptyDir": {"medium": "Memory"}}]
    small = planned(**{**service, "model": "Llama-3.1-8B"})
    assert "volumes" not in pod(small)


def test_what_a_job_must_do_for_its_memory_is_in_plan_and_manifest() -> None:
    """8 B parameters in mixed precision take 16 bytes each (ZeRO, arXiv:1910.02054, section 3.1):
    on eight GPUs of 80 GB they must be sharded."""
    answer = planned(
        workload="full-fine-tuning",
        model="Llama-3.1-8B",
        context=16384,
        gpus=["H100-80GB"],
        target={"tokens": 10**9, "deadlineHours": 48},
    )
    (work,) = answer.workloads
    job, split = work.option.reached.training, work.option.reached.parallel
    assert job is not None
    assert split.data > 1
    env = {one["name"]: one["value"] for one in pod(answer)["containers"][0]["env"]}
    assert env["GPUFLEET_SHARDING"] == "zero3"
    assert env["GPUFLEET_CHECKPOINTING"] == job.checkpointing.value
    assert env["GPUFLEET_LOSS"] == job.loss.value
    assert env["GPUFLEET_MICRO_BATCH"] == "1"
    assert env["GPUFLEET_DATA"] == str(split.data)
    text = spec_text(answer)
    for part in ("sharding zero3", f"checkpointing {job.checkpointing.value}", "micro batch 1"):
        assert part in text


def test_the_text_of_size_names_what_training_must_do() -> None:
    result = CliRunner().invoke(
        command, ["--model", "Llama-3.1-8B", "--context", "4096", "--workload", "lora"]
    )
    assert "checkpointing none, loss eager, rank 16" in result.output

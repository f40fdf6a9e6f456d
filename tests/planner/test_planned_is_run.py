"""The assumptions of a plan are the requests of its fleet and its manifests."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.catalogue import load
from gpufleet.models.inference import Serving
from gpufleet_planner.commands.plan import command as plan_command
from gpufleet_planner.commands.size import command
from gpufleet_planner.explanation.explain import explain_option
from gpufleet_planner.planning.manifest import manifest_text, manifests, planned_objects, spec_text
from gpufleet_planner.planning.plan import PlannedFleet, plan
from gpufleet_planner.sizing.training import Training
from gpufleet_policies.commands.audit import command as audit
from tests.planner.plan_files import example, file
from tests.reading import yaml_documents

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
    env = {one["name"]: one.get("value") for one in pod(answer)["containers"][0]["env"]}
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


def test_pods_of_a_job_over_machines_find_each_other() -> None:
    """An indexed Job, a headless Service, and the variables torchrun reads for its options."""
    answer = plan(example("sandbox-pretraining"))
    (work,) = answer.workloads
    machines = work.option.machines
    assert machines > 1
    (job,) = manifests(answer)
    service, _ = planned_objects(answer)
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == (
        "Indexed",
        machines,
        machines,
    )
    template = spec["template"]["spec"]
    assert template["subdomain"] == service["metadata"]["name"] == "pretrain"
    assert service["metadata"]["namespace"] == job["metadata"]["namespace"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "pretrain"}
    env = {one["name"]: one for one in template["containers"][0]["env"]}
    assert env["PET_NNODES"]["value"] == str(machines)
    assert env["PET_NPROC_PER_NODE"]["value"] == "8"
    assert env["PET_MASTER_ADDR"]["value"] == "pretrain-0.pretrain"
    port = str(service["spec"]["ports"][0]["port"])
    assert env["PET_MASTER_PORT"]["value"] == env["MASTER_PORT"]["value"] == port
    rank = env["PET_NODE_RANK"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert rank == "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    kinds = [document["kind"] for document in yaml_documents(manifest_text(answer))]
    assert kinds == ["Service", "Job"]


def test_what_was_timed_is_what_the_job_is_given() -> None:
    """Key by key: every setting memory and speed rest on is a variable of the container."""
    answer = plan(example("sandbox-pretraining"))
    (work,) = answer.workloads
    job, split = work.option.reached.training, work.option.reached.parallel
    assert job is not None
    container = pod(answer)["containers"][0]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert (
        env.items()
        >= {
            "GPUFLEET_FRAMEWORK": job.framework.value,
            "GPUFLEET_ARITHMETIC": job.arithmetic.value,
            "GPUFLEET_PRECISION": job.precision.value,
            "GPUFLEET_OPTIMIZER": job.optimizer.value,
            "GPUFLEET_MICRO_BATCH": str(job.batch),
            "GPUFLEET_ACCUMULATION": str(job.accumulation),
            "GPUFLEET_CHECKPOINTING": job.checkpointing.value,
            "GPUFLEET_LOSS": job.loss.value,
            "GPUFLEET_SHARDING": split.sharding.value,
            "GPUFLEET_DATA": str(split.data),
        }.items()
    )
    gpus = int(container["resources"]["limits"]["nvidia.com/gpu"])
    assert gpus * work.option.machines == split.training_gpus == work.option.reached.gpus_each
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert "/dev/shm" in mounts


def test_a_job_of_one_gpu_needs_no_rendezvous() -> None:
    answer = plan(example("sandbox-lora"))
    assert len([*planned_objects(answer)]) == 1
    env = {one["name"] for one in pod(answer)["containers"][0]["env"]}
    assert not any(name.startswith("PET_") for name in env)


SERVING_KEYS = {
    "context": "--max-model-len",
    "utilisation": "--gpu-memory-utilization",
    "batched_tokens": "--max-num-batched-tokens",
    "max_sequences": "--max-num-seqs",
    "weights": "--dtype or --quantization",
    "kv_cache": "--kv-cache-dtype",
    "chunked_prefill": "--no-enable-chunked-prefill",
}
SERVING_REST = {
    "batch": "below max_sequences: clients send so many, the engine does not",
    "prompt_tokens": "of the clients",
    "output_tokens": "of the clients",
    "engine": "the image",
    "head_apart": "of the checkpoint",
    "stored_bytes": "of the checkpoint",
    "graphs": "without them no speed is known, so that nothing is planned",
}


def test_every_setting_that_serving_was_sized_with_is_an_argument() -> None:
    """vLLM's arguments, key by key: a new field of Serving has to be here."""
    assert {one.name for one in fields(Serving)} == SERVING_KEYS.keys() | SERVING_REST.keys()
    answer = plan(example("sandbox-serving"))
    (work,) = answer.workloads
    assert work.need is not None
    serving = next(s for s in work.need.serving if s.weights.name == work.option.reached.precision)
    container = pod(answer)["containers"][0]
    given = dict(argument.split("=", 1) for argument in container["args"] if "=" in argument)
    vllm = load().engines["vllm"]
    assert given["--max-model-len"] == str(serving.context)
    assert given["--gpu-memory-utilization"] == f"{float(vllm.fraction or 0):.2f}"
    assert given["--max-num-batched-tokens"] == str(serving.batched_tokens)
    assert given["--max-num-seqs"] == str(serving.max_sequences)
    form = given.get("--dtype") or given["--quantization"]
    assert form.startswith({"bf16": "bfloat16"}.get(serving.weights.name, serving.weights.name))
    assert ("--kv-cache-dtype" in given) == (serving.kv_cache.name != "bf16")
    split = work.option.reached.parallel
    assert int(container["resources"]["limits"]["nvidia.com/gpu"]) == split.serving_gpus
    assert given.get("--tensor-parallel-size", "1") == str(split.tensor)
    (document,) = manifests(answer)
    assert document["spec"]["replicas"] == work.option.reached.copies


def test_prompts_in_one_piece_are_an_argument() -> None:
    answer = planned(
        workload="inference",
        model="Llama-3.1-8B",
        context=8192,
        image=VLLM,
        gpus=["H100-80GB"],
        chunkedPrefill=False,
    )
    assert "--no-enable-chunked-prefill" in pod(answer)["containers"][0]["args"]


TRAINING_KEYS = {
    "context": "CONTEXT",
    "batch": "MICRO_BATCH",
    "precision": "PRECISION",
    "optimizer": "OPTIMIZER",
    "fused_optimizer": "FUSED_OPTIMIZER",
    "accumulation": "ACCUMULATION",
    "checkpointing": "CHECKPOINTING",
    "compiled": "COMPILE",
    "loss": "LOSS",
    "loss_parallel": "LOSS_PARALLEL",
    "base": "PRECISION",
    "rank": "RANK",
    "targets": "TARGETS",
    "interleaving": "INTERLEAVING",
    "framework": "FRAMEWORK",
    "arithmetic": "ARITHMETIC",
}


def test_every_setting_that_training_was_sized_with_is_a_variable() -> None:
    """LoRA of 32B, key by key; what is not set is false or 1."""
    assert {one.name for one in fields(Training)} == TRAINING_KEYS.keys() | {"method"}
    answer = plan(example("sandbox-lora"))
    (work,) = answer.workloads
    job = work.option.reached.training
    assert job is not None
    env = {one["name"]: one.get("value") for one in pod(answer)["containers"][0]["env"]}
    expected = {
        "CONTEXT": str(job.context),
        "MICRO_BATCH": str(job.batch),
        "PRECISION": job.base.name,
        "OPTIMIZER": job.optimizer.value,
        "ACCUMULATION": str(job.accumulation),
        "CHECKPOINTING": job.checkpointing.value,
        "LOSS": job.loss.value,
        "RANK": str(job.rank),
        "TARGETS": job.targets.value,
        "FRAMEWORK": job.framework.value,
        "ARITHMETIC": job.arithmetic.value,
    }
    assert env.items() >= {f"GPUFLEET_{name}": value for name, value in expected.items()}.items()
    unset = set(TRAINING_KEYS.values()) - expected.keys()
    assert not [
        name for name in unset if env.get(f"GPUFLEET_{name}", "false") not in ("false", "1")
    ]
    assert not job.fused_optimizer
    assert not job.loss_parallel


def test_notebooks_get_the_memory_that_was_planned() -> None:
    """Each pod on a slice or share of at least what its notebook uses at its peak."""
    answer = plan(example("sandbox-notebooks"))
    (work,) = answer.workloads
    (document,) = manifests(answer)
    assert document["spec"]["replicas"] == 20
    template = document["spec"]["template"]
    assert float(template["metadata"]["annotations"]["gpufleet.dev/min-gpu-memory-gib"]) >= 8
    assert work.option.reached.usable_bytes >= 8 * 2**30
    limits = template["spec"]["containers"][0]["resources"]["limits"]
    assert [name for name in limits if name.startswith("nvidia.com/")]


@pytest.mark.parametrize("name", ["serving", "lora", "notebooks", "pretraining"])
def test_a_plan_is_audited_without_findings(name: str, tmp_path: Path) -> None:
    """Fleet and manifests as the command writes them. On EKS: nodes of the local control plane
    cannot start from 0, which the policies name."""
    data = example(f"sandbox-{name}") | {
        "platform": "eks",
        "environment": "prod",
        "cluster": {"name": "test", "region": "us-east-1"},
    }
    source, pods, fleet = (tmp_path / f"{part}.yaml" for part in ("in", "pods", "fleet"))
    source.write_text(yaml.safe_dump(data), "utf-8")
    done = CliRunner().invoke(plan_command, [str(source), "--manifests", str(pods)])
    assert done.exit_code == 0, done.output
    fleet.write_text(done.stdout, "utf-8")
    found = CliRunner().invoke(audit, [str(pods), str(fleet)])
    assert found.exit_code == 0, found.output
    assert "no errors, no warnings" in found.output


def test_sglang_gets_what_was_planned() -> None:
    """Option names: sgl-project/sglang, python/sglang/srt/server_args.py; its image has no command
    (docs/references of that repository)."""
    answer = planned(
        workload="inference",
        model="Llama-3.1-70B",
        weights="fp8",
        kvCache="fp8",
        context=8192,
        engine="sglang",
        image="lmsysorg/sglang:v0.5.8",
        batch=8,
        gpus=["H100-80GB"],
    )
    (work,) = answer.workloads
    container = pod(answer)["containers"][0]
    assert container["command"] == ["python3", "-m", "sglang.launch_server"]
    given = dict(argument.removeprefix("--").split("=", 1) for argument in container["args"])
    split = work.option.reached.parallel
    assert split.tensor > 1
    # 81,079 MiB less 512 + 1.5 x 8,192 + 2 x 256 (512 in groups of four) + 128 for each GPU.
    kept = 512 + 12_288 + 2 * (512 if split.tensor >= 4 else 256) + 128 * split.tensor
    part = given.pop("mem-fraction-static")
    assert float(part) == pytest.approx(1 - kept / 81_079, abs=0.01)
    assert given == {
        "model-path": "meta-llama/Llama-3.1-70B",
        "host": "0.0.0.0",
        "port": "8000",
        "context-length": "8192",
        "max-running-requests": "256",
        "chunked-prefill-size": "8192",
        "quantization": "fp8",
        "kv-cache-dtype": "fp8_e4m3",
        "tp-size": str(split.tensor),
    }
    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8000}


def test_steps_of_sglang_are_those_its_memory_fraction_leaves_room_for() -> None:
    """GPUs of less than 35 GiB: 2,048 prompt tokens a step, graphs of 24 sequences; 22,563 MiB of
    an L4 less 512 + 1.5 x 2,048 + 2 x 24 + 128."""
    answer = planned(
        workload="inference",
        model="Llama-3.1-8B",
        context=4096,
        batch=4,
        engine="sglang",
        image="lmsysorg/sglang:v0.5.8",
        gpus=["L4"],
        mostGpus=1,
    )
    container = pod(answer)["containers"][0]
    given = dict(argument.removeprefix("--").split("=", 1) for argument in container["args"])
    assert given["chunked-prefill-size"] == "2048"
    assert float(given["mem-fraction-static"]) == pytest.approx(1 - 3_760 / 22_563, abs=0.01)

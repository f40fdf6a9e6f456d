"""Manifests: arguments of each engine, scaling of services, queues of jobs."""

from typing import Any

import pytest

from gpufleet_planner.planning.engine_arguments import check_manifests
from gpufleet_planner.planning.manifest import manifest_text, manifests, planned_objects
from gpufleet_planner.planning.plan import PlannedFleet, plan
from tests.reading import yaml_documents

VLLM = "vllm/vllm-openai:v0.11.0"


def planned(*workloads: dict[str, Any], **head: Any) -> PlannedFleet:
    answer = plan(
        {
            "platform": "eks",
            "cluster": {"name": "test", "region": "us-east-1"},
            "workloads": list(workloads),
            **head,
        }
    )
    assert answer.fleet is not None, answer.findings
    return answer


def service(name: str = "chat", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "workload": "inference",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "context": 4096,
        "image": VLLM,
        **fields,
    }


def arguments(answer: PlannedFleet, name: str) -> list[str]:
    document = next(d for d in manifests(answer) if d["metadata"]["name"] == name)
    return document["spec"]["template"]["spec"]["containers"][0].get("args", [])


def test_the_engine_is_told_what_was_planned() -> None:
    answer = planned(service(gpus=["L40S"], kvCache="fp8", maxSequences=64, batchedTokens=4096))
    assert arguments(answer, "chat") == [
        "--model=meta-llama/Llama-3.1-8B-Instruct",
        "--max-model-len=4096",
        "--max-num-seqs=64",
        "--max-num-batched-tokens=4096",
        "--gpu-memory-utilization=0.92",
        "--dtype=bfloat16",
        "--kv-cache-dtype=fp8",
    ]


def test_a_share_gets_its_part_in_four_digits() -> None:
    """0.92 of an H100 in 16 MPS shares: 0.05 would be 0.6 GiB less, and the server would end."""
    small = service(
        model="Qwen/Qwen2.5-1.5B-Instruct",
        context=2048,
        batch=2,
        replicas=48,
        gpus=["H100-80GB"],
        maxSequences=64,
        isolation="memory",
    )
    given = [one for one in arguments(planned(small), "chat") if "utilization" in one]
    assert given == ["--gpu-memory-utilization=0.0575"]


def test_a_name_the_engine_cannot_fetch_is_said() -> None:
    answer = planned(
        service("chat", model="Llama-3.1-8B", gpus=["L40S"]),
        service("known", gpus=["L40S"]),
        service("own", model="Llama-3.1-8B", image="registry.example/own:1", gpus=["L40S"]),
    )
    assert "--model=meta-llama/Llama-3.1-8B" in arguments(answer, "chat")
    (found,) = check_manifests(answer)
    assert (found.code, found.path) == ("model-hub-id-chosen", "workloads[0].model")
    assert found.severity.value == "info"
    assert "meta-llama/Llama-3.1-8B-Instruct" in found.message


def test_a_model_without_an_id_cannot_be_fetched() -> None:
    answer = planned(service("chat", model="8B", gpus=["L40S"]))
    assert "--model=8B" in arguments(answer, "chat")
    (found,) = check_manifests(answer)
    assert (found.code, found.path) == ("model-not-a-hub-id", "workloads[0].model")
    assert "--model=8B" in found.message
    assert "meta-llama/Llama-3.1-8B-Instruct" in (found.fix or "")


def test_a_release_without_its_organisation_gets_its_own_id() -> None:
    answer = planned(service("chat", model="Llama-3.1-8B-Instruct", gpus=["L40S"]))
    assert "--model=meta-llama/Llama-3.1-8B-Instruct" in arguments(answer, "chat")


def test_a_checkpoint_in_its_format_is_not_quantised_again() -> None:
    named = planned(service("chat", model="RedHatAI/Llama-3.1-8B-Instruct-FP8", gpus=["L40S"]))
    assert not [a for a in arguments(named, "chat") if a.startswith("--quantization")]
    assert named.workloads[0].option.reached.precision == "fp8"
    stated = planned(service("chat", weights="fp8", gpus=["L40S"]))
    assert "--quantization=fp8" in arguments(stated, "chat")


def test_beside_others_it_takes_its_part_only() -> None:
    small = service(model="Qwen/Qwen2.5-0.5B-Instruct", replicas=4, gpus=["L4"], context=1024)
    answer = planned(small)
    replicas = answer.workloads[0].option.share.replicas
    assert replicas > 1
    part = next(a for a in arguments(answer, "chat") if "utilization" in a).partition("=")[2]
    assert float(part) * replicas <= 0.92
    assert float(part) * (replicas + 1) > 0.75


def test_splits_formats_and_embedding_have_their_arguments() -> None:
    answer = planned(
        service(model="Llama-3.1-70B", weights="fp8", gpus=["L40S"]),
        service("search", workload="embedding", model="Qwen3-0.6B", context=512),
    )
    given = arguments(answer, "chat")
    assert "--quantization=fp8" in given
    split = answer.workloads[0].option.reached.parallel
    if split.tensor > 1:
        assert f"--tensor-parallel-size={split.tensor}" in given
    if split.pipeline > 1:
        assert f"--pipeline-parallel-size={split.pipeline}" in given
    assert "--runner=pooling" in arguments(answer, "search")


@pytest.mark.parametrize("image", ["registry.example/own:1", None])
def test_other_images_keep_their_own_arguments(image: str | None) -> None:
    answer = planned(service(image=image, gpus=["L40S"]))
    assert arguments(answer, "chat") == []


def varying(**head: Any) -> PlannedFleet:
    """A service whose rate needs more replicas than the two that it has at least."""
    rate = {"requestsPerSecond": 40}
    return planned(service(prompt=512, output=256, target=rate, gpus=["L4"], replicas=2), **head)


def test_a_service_that_may_scale_has_its_scaled_object_and_keda() -> None:
    answer = varying()
    document, scaled = yaml_documents(manifest_text(answer))
    assert document["spec"]["replicas"] > 2
    assert (scaled["apiVersion"], scaled["kind"]) == ("keda.sh/v1alpha1", "ScaledObject")
    assert scaled["spec"]["scaleTargetRef"]["name"] == "chat"
    assert scaled["spec"]["minReplicaCount"] == 2
    assert scaled["spec"]["maxReplicaCount"] == document["spec"]["replicas"]
    trigger = scaled["spec"]["triggers"][0]["metadata"]
    own = "chat-[a-z0-9]{1,10}-[a-z0-9]{5}"
    assert (
        trigger["query"] == f'sum(vllm:num_requests_running{{namespace="default", pod=~"{own}"}})'
    )
    assert answer.spec is not None
    assert answer.spec["addons"] == {"keda": {"enabled": True}}
    (finding,) = [f for f in answer.findings if f.code == "scaling-metric-not-scraped"]
    assert trigger["serverAddress"] in finding.message


def test_a_fleet_with_monitoring_scrapes_what_replicas_follow() -> None:
    """vLLM serves /metrics at its own port (docs.vllm.ai, production metrics)."""
    query, other = (
        "http://metrics.example:9090",
        {"name": "a", "namespace": "b", "labels": {"c": "d"}},
    )
    answer = varying(spec={"monitoring": {"queryUrl": query, "servers": [other]}})
    assert answer.fleet is not None
    assert answer.fleet.spec.monitoring is not None
    first, own = answer.fleet.spec.monitoring.servers
    assert first.name == "a"
    document, scaled = planned_objects(answer)
    assert own.labels == document["spec"]["template"]["metadata"]["labels"]
    assert own.namespace == document["metadata"]["namespace"]
    container = document["spec"]["template"]["spec"]["containers"][0]
    assert own.port in [port["name"] for port in container["ports"]]
    assert scaled["spec"]["triggers"][0]["metadata"]["serverAddress"] == query
    assert "scaling-metric-not-scraped" not in {f.code for f in answer.findings}


def test_who_states_a_fleet_without_keda_gets_no_scaled_object() -> None:
    answer = varying(spec={"addons": {"keda": {"enabled": False}}})
    (document,) = planned_objects(answer)
    assert document["kind"] == "Deployment"
    assert "scaling-metric-not-scraped" not in {f.code for f in answer.findings}


def test_who_brings_keda_keeps_it() -> None:
    answer = varying(
        spec={"addons": {"keda": {"ownership": "existing"}, "kueue": {"enabled": True}}}
    )
    assert answer.spec is not None
    assert answer.spec["addons"] == {
        "keda": {"enabled": True, "ownership": "existing"},
        "kueue": {"enabled": True},
    }
    assert len([*planned_objects(answer)]) == 2


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_service_of_one_size_does_not_scale(replicas: int) -> None:
    answer = planned(service(gpus=["L40S"], replicas=replicas))
    (document,) = planned_objects(answer)
    assert "annotations" not in document["metadata"]
    assert answer.spec is not None
    assert "addons" not in answer.spec


def test_teams_own_the_pools_that_only_they_use_and_their_jobs_wait_in_their_queue() -> None:
    job = {
        "name": "tune",
        "workload": "lora",
        "model": "Llama-3.1-8B",
        "context": 2048,
        "batch": 1,
        "target": {"tokens": 1_000_000},
        "team": "research",
    }
    answer = planned(
        service(gpus=["L40S"], team="product"),
        job,
        spec={"queues": {"teams": [{"name": "research", "borrowing": 0}], "cohort": "all"}},
    )
    assert answer.spec is not None
    assert {pool["team"] for pool in answer.spec["pools"]} == {"product", "research"}
    queues = answer.spec["queues"]
    assert queues["cohort"] == "all"
    teams = {team["name"]: team for team in queues["teams"]}
    assert teams["research"]["borrowing"] == 0
    assert sum(team["share"] for team in queues["teams"]) <= 1
    tune = next(d for d in manifests(answer) if d["kind"] == "Job")
    assert tune["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert tune["spec"]["suspend"] is True


def test_notebooks_say_when_they_are_culled_and_start_at_once() -> None:
    labs = {"name": "labs", "workload": "notebook", "memoryGib": 8, "culledAfterHours": 1.5}
    [document] = manifests(planned(labs))
    annotations = document["spec"]["template"]["metadata"]["annotations"]
    assert annotations["gpufleet.dev/culled-after-seconds"] == "5400"
    assert document["spec"]["podManagementPolicy"] == "Parallel"


def test_the_memory_of_a_pod_is_that_of_all_its_gpus() -> None:
    answer = planned(service(model="Llama-3.1-70B", gpus=["H100-80GB"], target={"tokenMs": 40}))
    [work] = answer.workloads
    each = work.option.reached.gpus_each
    assert each > 1
    [document] = manifests(answer)
    said = document["spec"]["template"]["metadata"]["annotations"][
        "gpufleet.dev/min-gpu-memory-gib"
    ]
    assert float(said) == pytest.approx(each * work.option.reached.need_bytes / (1 << 30), abs=0.01)
    assert float(said) > 141 / 1.073741824


def test_the_engine_is_ready_once_it_answers() -> None:
    [document] = manifests(planned(service(gpus=["L40S"])))
    [container] = document["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": 8000}
    start = container["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 1800
    [other] = manifests(planned(service(gpus=["L40S"], image="registry.example/own:1")))
    assert "readinessProbe" not in other["spec"]["template"]["spec"]["containers"][0]


ROWS = [
    {"gpu": "H100", "gpusPerNode": 8, "nodes": 2, "networkGbps": 400, "rdma": True},
    {"gpu": "L40S", "gpusPerNode": 8, "nodes": 3, "usdPerGpuHour": 0.9},
]


def on_premises(*shapes: dict[str, Any] | None) -> PlannedFleet:
    rows = [
        {**row, **({} if shape is None else {"vsphere": shape})}
        for row, shape in zip(ROWS, shapes, strict=True)
    ]
    work = service(gpus=["H100"], model="Llama-3.1-70B", target={"tokenMs": 60})
    return plan(
        {
            "platform": "vsphere",
            "cluster": {"name": "onprem", "kubernetesVersion": "1.36"},
            "hardware": rows,
            "workloads": [work, service("labs", replicas=2, gpus=["L40S"])],
        }
    )


def test_own_machines_without_a_shape_are_named_where_they_stand() -> None:
    answer = on_premises(None, {"cpus": 32, "memoryGib": 256, "template": "t"})
    assert answer.fleet is None
    told = {f.path: f.code for f in answer.findings if f.severity.value == "error"}
    assert told == {"hardware[0].vsphere": "hardware-shape-missing"}


def test_each_kind_of_own_machine_has_its_own_shape() -> None:
    small = {"cpus": 32, "memoryGib": 256, "template": "small", "deviceIds": ["26b9"]}
    big = {"cpus": 96, "memoryGib": 1024, "template": "big"}
    answer = on_premises(big, small)
    assert answer.spec is not None, answer.findings
    shapes = {pool["gpu"]: pool["vsphere"]["template"] for pool in answer.spec["pools"]}
    assert shapes == {"H100-80GB": "big", "L40S": "small"}
    # Findings of compile about a shape point into the file of workloads.
    refused = on_premises(big, {**small, "cpus": 0})
    wrong = [f.path for f in refused.findings if f.severity.value == "error"]
    assert any(path.startswith("hardware[1].vsphere") for path in wrong), refused.findings


def test_an_unknown_model_and_gpu_are_told_at_once() -> None:
    answer = plan(
        {
            "platform": "eks",
            "cluster": {"name": "x", "region": "us-east-1"},
            "workloads": [service(model="Lama-3.1-8B", gpu="H1000")],
        }
    )
    assert {f.code for f in answer.findings} == {"model-unknown", "gpu-unknown"}

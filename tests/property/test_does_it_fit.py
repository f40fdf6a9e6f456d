"""Whether a model fits: compile, size, plan and audit use the same bytes.

Random fleets, models and ways of sharing. The expected relations are those of the sources: weights
larger than what a process can allocate cannot be loaded (vllm-project/vllm#636), MPS divides memory
evenly and enforces it, time-slicing has no limit (NVIDIA k8s-device-plugin README).
"""

from functools import cache
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import Gpu, load
from gpufleet.cluster import FleetFacts, Locator
from gpufleet.findings import Finding
from gpufleet.fleet import fleet_as_dict
from gpufleet.fleet.model import Pool
from gpufleet.partition.grant import Grant
from gpufleet.platforms.compiled import compile_data
from gpufleet_planner.sizing.device import DeviceShare, shares
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size
from gpufleet_policies.readers.fleet import fleet_from
from tests.examples import ALL
from tests.policies.objects import findings, workload

CATALOGUE = load()
RULE = "model-exceeds-gpu-memory"
MODELS = (
    "TinyLlama-1.1B",
    "Llama-3.2-1B",
    "Llama-3.2-3B",
    "Llama-3.1-8B",
    "Gemma-2-9b",
    "Mixtral-8x7B",
    "Llama-3.1-70B",
)
MACHINES = {
    "eks": ("g4dn.xlarge", "g5.xlarge", "g6.xlarge", "g6e.xlarge", "p4d.24xlarge", "p5.48xlarge"),
    "gke": ("g2-standard-12", "a2-highgpu-1g", "a2-ultragpu-1g", "a3-highgpu-1g"),
}
REGION = {"eks": "us-east-1", "gke": "us-central1"}


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A fleet of one pool."""
    platform = draw(st.sampled_from(sorted(MACHINES)))
    machine = draw(st.sampled_from(MACHINES[platform]))
    gpu = CATALOGUE.gpu(CATALOGUE.instance(machine).accelerator.gpu)
    replicas = {"replicas": draw(st.integers(2, 16))}
    ways = [{"exclusive": {}}, {"timeSlicing": replicas}, {"mps": replicas}]
    if gpu.mig is not None:
        profile = draw(st.sampled_from(sorted(gpu.mig.profiles)))
        count = draw(st.integers(1, gpu.mig.profiles[profile].max_instances))
        single = draw(st.booleans())
        mig: dict[str, Any] = {"layouts": [{"devices": {profile: count}}]}
        if single or platform == "gke":
            mig |= {"strategy": "single"}
        ways += [{"mig": mig}, {"mig": {**mig, "timeSlicing": replicas}}]
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "ml", "region": REGION[platform], "kubernetesVersion": "1.36"},
        "pools": [
            {
                "name": "small",
                "instanceTypes": [machine],
                "nodes": {"min": 0, "max": 2},
                "sharing": draw(st.sampled_from(ways)),
            }
        ],
    }


def asked_of_size(one: Grant, sharing: str, model: str) -> SizeRequest:
    """The same share in a user's call of `gpufleet size`."""
    replicas = one.replicas if one.replicas > 1 else None
    return SizeRequest(
        model=model,
        gpu=one.gpu,
        mig=one.profile,
        mps=replicas if sharing == "mps" else None,
        time_slicing=replicas if sharing != "mps" else None,
        context=2048,
        batch=1,
    )


def audited(fleet: FleetFacts, resource: str, model: str) -> Finding | None:
    """The error of the audit about a server of the model on one unit of the resource."""
    container = {
        "name": "main",
        "image": "vllm/vllm-openai:v0.11.0",
        # All of the share, and next to no cache: the weights alone decide.
        "args": ["--model", model, "--gpu-memory-utilization", "1", "--max-model-len", "16"],
        "resources": {"limits": {resource: 1}},
    }
    template = {
        "metadata": {"labels": {"app": "l"}},
        "spec": {
            "nodeSelector": {"gpufleet.dev/pool": "small"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [container],
        },
    }
    server = workload(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "l", "namespace": "ml"},
            "spec": {"replicas": 1, "template": template},
        }
    )
    found = [f for f in findings(server, alongside=fleet) if f.code == RULE]
    return found[0] if found else None


def planned(gpu: Gpu, one: Grant, sharing: str) -> Grant | None:
    """The same share as the planner offers it; None where it does not try it."""
    kind = DeviceShare.MIG if one.profile else DeviceShare.WHOLE
    if one.replicas > 1:
        kind = DeviceShare.MPS if sharing == "mps" else DeviceShare.TIME_SLICE
    offered = [offer for offer in shares(gpu, tuple(DeviceShare)) if offer.kind is kind]
    alike = [o for o in offered if (o.profile, o.replicas) == (one.profile, one.replicas)]
    return alike[0].grant if alike else None


def pool_of(document: dict[str, Any]) -> tuple[Pool, FleetFacts] | None:
    compiled = compile_data(document)
    if compiled.fleet is None or not compiled.deployable:
        return None
    facts = fleet_from({"fleet": fleet_as_dict(compiled.fleet)}, Locator("GpuFleet", "fleet"))
    assert facts is not None
    return compiled.fleet.pools[0], facts


@cache
def weights_of(model: str) -> int:
    """Without a GPU: a T4 runs no bf16, and is refused before anything is summed up."""
    answer = size(SizeRequest(model=model, context=2048, batch=1), CATALOGUE)
    assert answer.ledger is not None, answer.findings
    return next(item.bytes for item in answer.ledger.items if item.key == "weights")


@settings(
    max_examples=2000 if ALL else 120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(declarations(), st.sampled_from(MODELS))
def test_all_answer_by_the_same_bytes(document: dict[str, Any], model: str) -> None:
    found = pool_of(document)
    assume(found is not None)
    assert found is not None
    pool, facts = found
    (one,) = pool.partition.shares
    (read,) = facts.pools[0].shares
    assert (read.memory_bytes, read.most_bytes, read.part) == (
        one.memory_bytes,
        one.most_bytes,
        one.part,
    )
    sharing = document["pools"][0]["sharing"]
    mode = next(iter(sharing))
    assert one.memory_bytes is not None
    assert one.is_enforced is (one.replicas == 1 or mode == "mps")

    answer = size(asked_of_size(one, mode, model), CATALOGUE)
    assert answer.device is not None, answer.findings
    assert (answer.device.grant.memory_bytes, answer.device.grant.is_enforced) == (
        one.memory_bytes,
        one.is_enforced,
    )
    # On a whole GPU the driver keeps a part of that for itself (data/cuda_memory.csv).
    assert 0.97 * one.memory_bytes < answer.device.usable_bytes <= one.memory_bytes
    offered = planned(pool.gpu, one, mode)
    assert offered is None or offered.memory_bytes == one.memory_bytes
    assert offered is None or offered.part == one.part

    error = audited(facts, one.resource, model)
    most = one.most_bytes or 0
    assert (error is not None) is (weights_of(model) > most)
    assert error is None or f"{most / 2**30:.1f} GiB cannot hold them" in error.text
    assert not (answer.fits and error is not None)

"""The size of a model against the GPUs it requests."""

import pytest

from gpufleet.cluster import Provenance
from gpufleet.findings import Level
from tests.policies.objects import (
    CONTAINER,
    WHOLE,
    deployment,
    findings,
    fleet,
    ids,
    only,
)

LIMITS = f"{CONTAINER}.resources.limits"
ENCODER = {f"{CONTAINER}.image": "registry.example/encoder:1.0"}
SMALL = {'metadata.annotations."gpufleet.dev/model-params-b"': "1.1"}
NO_SLICES = {"pools[0].sharing": {"exclusive": {}}, "pools[1].sharing": {"exclusive": {}}}


def test_whole_gpu_where_a_slice_fits():
    found = only(findings(deployment({LIMITS: WHOLE, **SMALL})), "gpu-oversized-for-model")
    assert found.level is Level.MANDATORY
    assert found.text == (
        "[gpu-oversized-for-model] Deployment ml/chat, container server "
        "(spec.template.spec.containers[0]): requests 1 x nvidia.com/gpu = 1 x H100-80GB (79.6 GiB "
        "each), and the model needs 4.8 GiB (estimated for 1.1 B parameters in bf16, declared); "
        "nvidia.com/gpu.shared of pool small has 5.6 GiB, one of 4 shares of a device. Instead: "
        "request `nvidia.com/gpu.shared: 1` instead of `nvidia.com/gpu: 1`. It wastes 19,502 USD "
        "per month (4 pods; pool training, 6.88 USD/h per GPU, 730 h). To keep it for a while, "
        'annotate gpufleet.dev/ignore-gpu-oversized-for-model: "<reason>; until=YYYY-MM-DD". '
        "More: gpufleet policies explain gpu-oversized-for-model"
    )


def test_a_larger_model_gets_the_slice_that_holds_it():
    changes = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"': "15"}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert "request `nvidia.com/mig-2g.20gb: 1`" in found.text
    assert "15.0 GiB (declared by gpufleet.dev/min-gpu-memory-gib)" in found.text


def test_inferred_evidence_is_only_advice():
    changes = {LIMITS: WHOLE, f"{CONTAINER}.args": ["--model", "meta-llama/Llama-3.2-1B"]}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert found.level is Level.ADVISORY
    assert found.provenance is Provenance.INFERRED
    assert "inferred" in found.text


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("org/model-70b", True),
        ("bartowski/Llama-3.3-70B-Instruct-GGUF", False),
        ("google/gemma-3-27b-it-qat-q4_0-gguf", False),
        ("turboderp/Llama-3-70B-exl2", False),
        ("org/Llama-3-70B-4bit", False),
    ],
)
def test_the_bytes_of_other_compressions_are_not_in_a_name(name: str, known: bool):
    """Names of repositories of Hugging Face."""
    found = findings(deployment({LIMITS: WHOLE, f"{CONTAINER}.args": ["--model", name]}))
    codes = {"model-exceeds-gpu-memory", "gpu-oversized-for-model"}
    assert bool(codes & set(ids(found))) is known


@pytest.mark.parametrize(
    "reason",
    [
        {'metadata.annotations."gpufleet.dev/latency-slo-ms"': "50"},
        {'metadata.annotations."gpufleet.dev/throughput-slo"': "900 tokens/s"},
        {'metadata.annotations."gpufleet.dev/mode"': "training"},
        {'metadata.annotations."gpufleet.dev/sized-by"': "gpufleet plan"},
    ],
    ids=["latency", "throughput", "training", "plan"],
)
def test_reasons_for_a_big_gpu_are_respected(reason):
    assert findings(deployment({LIMITS: WHOLE, **SMALL, **reason})) == []


def test_replicas_that_slices_of_their_own_gpus_would_hold():
    """No slice is offered and no smaller GPU is worth it: two of three H100s could go."""
    changes = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"': "38"}
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
    uncut = deployment({**changes, **pinned, "spec.replicas": 6})
    found = [
        f
        for f in findings(uncut, alongside=fleet(NO_SLICES))
        if f.code == "gpu-oversized-for-model"
    ]
    assert [f.level for f in found] == [Level.ADVISORY]
    assert (
        "a 3g.40gb slice has 39.5 GiB, and 2 of them fit a GPU: 3 GPUs would hold 6 pods. Instead: "
        "partition a pool into 2 x 3g.40gb and request `nvidia.com/mig-3g.40gb: 1`" in found[0].text
    )
    one = deployment({**changes, **pinned, "spec.replicas": 1})
    assert "gpu-oversized-for-model" not in ids(findings(one, alongside=fleet(NO_SLICES)))


def test_copies_in_one_pod_may_be_meant_for_throughput():
    changes = {LIMITS: WHOLE, **SMALL, f"{CONTAINER}.args": ["--data-parallel-size", "2"]}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert found.level is Level.ADVISORY
    assert "x 2 copies; 12% of the memory would be used" in found.text
    assert "Instead: use 2 x L4" in found.text


def test_a_quarter_of_the_memory_is_advice_only():
    changes = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/model-params-b"': "9"}
    found = only(findings(deployment(changes)), "gpu-oversized-for-model")
    assert found.level is Level.ADVISORY
    assert "Instead: use 1 x L4 (22 GiB, g6.xlarge)" in found.text


def test_quantised_models_count_their_quantisation():
    big = {LIMITS: WHOLE, 'metadata.annotations."gpufleet.dev/model-params-b"': "7"}
    unquantised = only(findings(deployment(big)), "gpu-oversized-for-model")
    assert "the model needs 17." in unquantised.text
    assert "nvidia.com/mig-2g.20gb" in unquantised.fix
    quantised = deployment({**big, 'metadata.annotations."gpufleet.dev/precision"': "awq"})
    assert "mig-1g.10gb" in only(findings(quantised), "gpu-oversized-for-model").fix


def test_oversized_gpu_names_the_smaller_pool_of_the_fleet():
    alongside = fleet(NO_SLICES)
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alongside=alongside),
        "gpu-oversized-for-model",
    )
    assert found.level is Level.MANDATORY
    assert "6% of the memory would be used, and at least 35% should" in found.text
    assert "Instead: run on pool small (L4)" in found.text
    assert "wastes 17,740 USD per month (4 pods; pool training, 6.88 USD/h per GPU" in found.text


def test_machines_that_are_reclaimed_replace_none_that_stay():
    """The same fleet, its small pool on spot machines: the next pool that stays."""
    spot = fleet({**NO_SLICES, "pools[0].capacity": [{"spot": {}}]})
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
    found = findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alongside=spot)
    assert (
        "Instead: run on pool notebooks (A100-80GB)" in only(found, "gpu-oversized-for-model").text
    )


@pytest.mark.parametrize(("step", "gib"), [(8192, 13.7), (2048, 11.2), (None, 11.2)])
def test_windows_hold_the_tokens_of_a_step(step, gib):
    """Gemma-3-27b: 10 layers of 131,072 tokens and 52 of a window of 1,024, 8 KiB a token and
    layer. vLLM keeps ceil((1,023 + step) / 16) + 1 blocks of 16 for each window
    (`SlidingWindowSpec.max_memory_usage_bytes`): 10 GiB and 3.7 or 1.2; by default of 2,048."""
    tokens = 16 * (-(-(1023 + (step or 2048)) // 16) + 1)
    assert (10 * 131_072 + 52 * tokens) / 2**17 == pytest.approx(gib, abs=0.06)
    args = ["google/gemma-3-27b-it", "--max-model-len=131072", "--gpu-memory-utilization=0.76"]
    args += [f"--max-num-batched-tokens={step}"] * (step is not None)
    server = {f"{CONTAINER}.command": ["vllm", "serve"], f"{CONTAINER}.args": args}
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}
    found = findings(deployment({LIMITS: WHOLE, **server, **pinned}))
    assert f"tokens {gib} GiB" in only(found, "model-exceeds-gpu-memory").text


def test_oversized_gpu_known_by_its_label_names_what_the_market_sells():
    pinned = {'spec.template.spec.nodeSelector."nvidia.com/gpu.product"': "NVIDIA-H100-80GB-HBM3"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alone=True),
        "gpu-oversized-for-model",
    )
    assert "Instead: use 1 x L4 (22.4 GiB, for example)" in found.text
    assert found.money is not None
    assert found.money.usd_per_month is None, "its cloud is not known"


def test_prices_are_of_the_cloud_that_the_labels_name():
    """Measured on GoogleCloudPlatform/kubernetes-engine-samples: EC2 prices on GKE."""
    label = 'spec.template.spec.nodeSelector."cloud.google.com/gke-accelerator"'
    pinned = {label: "nvidia-tesla-a100"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned}), alone=True),
        "gpu-oversized-for-model",
    )
    assert "use 1 x L4 (22 GiB, g2-standard-4)" in found.text
    assert "a2-megagpu-16g at 3.48 USD/h per GPU in us-central1" in found.text
    elsewhere = {'spec.template.spec.nodeSelector."topology.kubernetes.io/zone"': "asia-east1-b"}
    found = only(
        findings(deployment({LIMITS: WHOLE, **SMALL, **pinned, **elsewhere}), alone=True),
        "gpu-oversized-for-model",
    )
    assert found.money is not None
    assert found.money.usd_per_month is None, "the price is of another region"


@pytest.mark.parametrize("alone", [True, False], ids=["label", "fleet"])
def test_a_smaller_model_never_gets_a_milder_finding(alone):
    """One whole H100, sizes from 1 B to 60 B: the level only falls."""
    key = (
        'spec.template.spec.nodeSelector."nvidia.com/gpu.product"'
        if alone
        else 'spec.template.spec.nodeSelector."gpufleet.dev/pool"'
    )
    pinned = {key: "NVIDIA-H100-80GB-HBM3" if alone else "training"}
    order = [Level.MANDATORY, Level.ADVISORY, None]
    levels = []
    for size in ("1", "4", "7", "8", "10", "13", "20", "34", "60"):
        sized = {'metadata.annotations."gpufleet.dev/model-params-b"': size}
        thing = deployment({LIMITS: WHOLE, **sized, **pinned, "spec.replicas": 1})
        found = findings(thing, alongside=fleet(NO_SLICES), alone=alone)
        own = [f.level for f in found if f.code == "gpu-oversized-for-model"]
        levels.append(own[0] if own else None)
    assert levels == sorted(levels, key=order.index), levels
    assert levels[0] is Level.MANDATORY
    assert levels[-1] is None


def test_the_cheapest_pool_counts_when_several_fit():
    # On an L4 the model is not oversized by price: nothing cheaper exists in that fleet.
    found = findings(deployment({LIMITS: WHOLE, **SMALL}), alongside=fleet(NO_SLICES))
    assert "training" not in " ".join(f.text for f in found)

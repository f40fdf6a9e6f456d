"""From a request to a result: names, combinations, shares, and the text of each error."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.models.formats import WEIGHT_FORMATS, Compute
from gpufleet.models.ledger import Basis
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.commands.size import sizing_as_dict
from gpufleet_planner.sizing.communication import inside_node, nvlink
from gpufleet_planner.sizing.device import DeviceShare
from gpufleet_planner.sizing.request import SizedWorkload, SizeRequest, parse_request
from gpufleet_planner.sizing.serving_rates import ServingSpeed
from gpufleet_planner.sizing.sized import Sizing, size
from gpufleet_planner.sizing.throughput import device_rate
from gpufleet_planner.sizing.training_rates import TrainingSpeed

CATALOGUE = load()
BASE = {"model": "Llama-3.1-8B", "context": 4096}


def ask(**more: Any) -> Sizing:
    return size(SizeRequest.model_validate({**BASE, **more}), CATALOGUE)


def codes(answer: Sizing) -> list[str]:
    return [finding.code for finding in answer.findings]


@pytest.mark.parametrize(
    ("more", "code", "message", "fix"),
    [
        (
            {"model": "Lama-3.1-8B"},
            "model-unknown",
            "the catalogue has no model 'Lama-3.1-8B', and its size is not guessed",
            "Llama-3.1-8B",
        ),
        ({"model": "ck"}, "model-unknown", "no model 'ck'", "of a folder here: ./NAME"),
        ({"gpu": "H1000"}, "gpu-unknown", "no GPU named 'H1000' in the catalogue", "H100-80GB"),
        ({"gpu": "A100"}, "gpu-unknown", "names more than one GPU", "A100-40GB, A100-80GB"),
        ({"gpu": "K80"}, "gpu-memory-unknown", "usable memory of K80 is not sourced", "choose"),
        ({"gpu": "V520"}, "gpu-vendor-unsupported", "V520 is made by amd", "NVIDIA"),
        ({"weights": "fp6"}, "weight-format-unknown", "'fp6' is not a number format", "fp8"),
        ({"kvCache": "int2"}, "kv-format-unknown", "'int2' is not a number format", "write"),
        ({"workload": "dreaming"}, "workload-unknown", "'dreaming' is not a workload", "write"),
        (
            {"gpu": "A100-80GB", "mig": "1g.11gb"},
            "mig-profile-unknown",
            "A100-80GB has no MIG profile '1g.11gb'; it has 1g.10gb",
            "1g.10gb",
        ),
        ({"gpu": "L4", "mig": "1g.5gb"}, "mig-unsupported", "L4 has no MIG profiles", "leave"),
        ({"gpu": "L4", "mps": 100}, "mps-replicas-out-of-range", "2 to 48 are possible", "48"),
        ({"gpu": "L4", "timeSlicing": 1}, "time-slices-out-of-range", "sharing starts at 2", "2"),
        ({"mig": "1g.5gb"}, "gpu-missing", "mig shares a GPU", "name the gpu"),
        ({"gpu": "L4", "board": "sxm"}, "gpu-board-unknown", "L4 has no board 'sxm'", "pcie"),
        (
            {"gpu": "T4"},
            "format-unsupported",
            "bf16 needs compute capability 8.0; T4 has 7.5",
            "write fp16",
        ),
        (
            {"gpu": "T4", "weights": "fp8"},
            "format-unsupported",
            "fp8 needs compute capability 8.0; T4 has 7.5",
            "wider",
        ),
        (
            {"gpu": "H100", "weights": "nvfp4"},
            "format-unsupported",
            "nvfp4 needs compute capability 10.0; H100-80GB has 9.0",
            "wider",
        ),
        (
            {"parallelism": {"tensor": 3}},
            "tensor-parallel-uneven",
            "3 GPUs cannot share 32 query and 8 KV heads",
            "write 2; possible are 1, 2, 4, 8, 16, 32",
        ),
        (
            {"parallelism": {"pipeline": 33}},
            "pipeline-deeper-than-model",
            "33 pipeline stages for the 32 layers",
            "at most 32",
        ),
        (
            {"parallelism": {"expert": 2}},
            "expert-parallel-without-experts",
            "Llama-3.1-8B has no experts",
            "use tensor",
        ),
        (
            {"gpu": "H100", "mig": "3g.40gb", "parallelism": {"tensor": 2}},
            "share-cannot-communicate",
            "2 processes cannot work as one group on H100-80GB 3g.40gb",
            "whole GPUs",
        ),
        (
            {"model": "8B", "activeParameters": "9B"},
            "active-parameters-invalid",
            "'9B' is not a parameter count of at most 8B",
            "3B",
        ),
    ],
)
def test_what_cannot_work_is_refused(
    more: dict[str, Any], code: str, message: str, fix: str
) -> None:
    answer = ask(**more)
    errors = [finding for finding in answer.findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == [code]
    assert message in errors[0].message
    assert fix in (errors[0].fix or "")
    assert answer.ledger is None
    assert answer.fits is None


@pytest.mark.parametrize(
    "more", [{}, {"timeSlicing": 2}, {"workload": "lora"}, {"gpu": "THOR-IGPU"}]
)
def test_a_gpu_with_the_memory_of_its_host_is_neither_fitting_nor_refused(
    more: dict[str, Any],
) -> None:
    """What the host has free decides, which no input states: the need is still given."""
    answer = ask(**{"gpu": "GB10", **more})
    assert codes(answer) == ["gpu-memory-of-host"]
    assert answer.fits is answer.device is answer.capacity is answer.speed is None
    assert answer.ledger is not None


def test_an_engine_of_a_workload_that_trains_is_a_warning() -> None:
    with_engine, without = ask(workload="lora", engine="vllm"), ask(workload="lora")
    (found,) = (one for one in with_engine.findings if one.code == "engine-unused")
    assert found.message == "vllm serves models, and lora trains one: no figure depends on it"
    assert with_engine.ledger == without.ledger
    assert "engine-unused" not in codes(without) + codes(ask(engine="vllm"))


def test_every_error_comes_at_once() -> None:
    answer = ask(model="no", gpu="none", weights="x", kvCache="y", workload="z")
    assert set(codes(answer)) == {
        "workload-unknown",
        "model-unknown",
        "weight-format-unknown",
        "kv-format-unknown",
        "gpu-unknown",
    }


def test_structural_problems_of_a_file_come_at_once() -> None:
    request, findings = parse_request({"model": "x", "contxt": 1, "batch": 0})
    assert request is None
    assert {(finding.path, finding.code) for finding in findings} == {
        ("context", "size-request-invalid"),
        ("batch", "size-request-invalid"),
        ("contxt", "size-request-invalid"),
    }
    (typo,) = [finding for finding in findings if finding.path == "contxt"]
    assert typo.fix == "write context"


@pytest.mark.parametrize(
    "name",
    CATALOGUE.models,
)
@pytest.mark.parametrize("workload", [kind.value for kind in SizedWorkload])
def test_every_model_has_an_answer_to_every_workload(name: str, workload: str) -> None:
    answer = ask(model=name, workload=workload, batch=2)
    assert answer.ledger is not None, answer.findings
    document = sizing_as_dict(answer)
    total = document["ledger"].pop("total")
    assert total == sum(document["ledger"].values()) == answer.ledger.total_bytes
    assert all(item["basis"] in set(Basis) and item["formula"] for item in document["items"])
    assert document["planningBytes"] > total


def test_serving_on_a_gpu() -> None:
    answer = ask(gpu="H100", batch=16)
    assert answer.fits
    assert answer.capacity is not None
    assert isinstance(answer.speed, ServingSpeed)
    assert answer.capacity.sequences > 16
    assert answer.capacity.tokens % 16 == 0
    assert answer.speed.saturated_tokens_per_second > answer.speed.tokens_per_second
    assert answer.speed.binding == "bandwidth"


def test_what_does_not_fit_is_an_answer() -> None:
    answer = ask(gpu="L4", model="Llama-2-13B")
    assert answer.fits is False
    assert codes(answer) == ["does-not-fit"]
    assert "L4 has 22.03 GiB usable" in answer.findings[0].message


@pytest.mark.parametrize(
    ("more", "fix"),
    [
        (
            {"model": "Llama-3.1-70B", "workload": "qlora", "context": 2048, "gpu": "A100-80GB"},
            "write `loss: chunked` and `checkpointing: selective`: 77.43 GiB with margin",
        ),
        ({"workload": "lora", "gpu": "L4"}, "`loss: chunked` and `checkpointing: full`"),
        (
            {"model": "Qwen2.5-14B", "workload": "lora", "context": 1024, "gpu": "L4"},
            "`workload: qlora`",
        ),
        ({"model": "Llama-3.1-70B", "gpu": "H100"}, "write `weights: fp8`: "),
        ({"model": "Llama-3.1-70B", "gpu": "L40S"}, "write `weights: awq-int4`: "),
        (
            {"model": "Llama-2-70B", "gpu": "L40S", "batch": 12},
            "write `parallelism: {pipeline: 4}`",
        ),
        ({"model": "Llama-3.1-405B", "gpu": "H200"}, "write `parallelism: {tensor: 8}`: "),
        ({"model": "3T", "gpu": "B300"}, "quantise, shorten context or batch"),
        ({"workload": "full-fine-tuning", "gpu": "H100"}, "divide the state"),
    ],
)
def test_what_does_not_fit_names_the_step_that_does(more: dict[str, Any], fix: str) -> None:
    told = next(f for f in ask(**more).findings if f.code == "does-not-fit")
    assert fix in (told.fix or "")


def test_the_named_step_is_one_that_fits() -> None:
    asked = {"model": "Llama-3.1-70B", "workload": "qlora", "context": 2048, "gpu": "A100-80GB"}
    assert not ask(**asked).fits
    assert ask(**asked, loss="chunked", checkpointing="selective").fits


def test_a_batch_beyond_the_cache_does_not_fit() -> None:
    answer = ask(gpu="L4", batch=7, utilisation="0.8")
    assert answer.fits is False
    assert codes(answer) == ["cache-too-small"]


def test_fp4_on_hopper_saves_memory_and_no_time() -> None:
    answer = ask(model="gpt-oss-20b", gpu="H100", weights="mxfp4")
    assert answer.fits
    assert codes(answer) == ["format-not-native"]


def test_fp8_on_ampere_is_weights_only() -> None:
    answer = ask(model="Llama-3.1-8B", gpu="A100-80", weights="fp8")
    assert answer.fits
    assert codes(answer) == ["format-not-native"]
    assert "no FP8 units" in answer.findings[0].message
    speed, native = answer.speed, ask(model="Llama-3.1-8B", gpu="H100", weights="fp8").speed
    assert isinstance(speed, ServingSpeed)
    assert isinstance(native, ServingSpeed)
    assert (speed.mbu, native.mbu) == (0.5, 0.77)
    plain = ask(model="Llama-3.1-8B", gpu="A100-80").speed
    assert isinstance(plain, ServingSpeed)
    assert answer.device is not None
    rate = device_rate(answer.device, WEIGHT_FORMATS["fp8"])
    assert rate is not None
    assert rate.unit is Compute.BF16
    assert speed.token_seconds < plain.token_seconds


def test_deepseek_in_fp8_on_ampere_is_a_question_of_memory() -> None:
    answer = ask(model="DeepSeek-R1", context=8192, gpu="A100-80GB", parallelism={"tensor": 8})
    assert answer.fits is False
    assert "format-unsupported" not in codes(answer)


def test_shares_have_usable_memory_and_part_of_the_speed() -> None:
    small = {"model": "Llama-3.2-1B", "context": 512}
    whole = ask(gpu="A100-80", **small)
    sliced = ask(gpu="A100-80", mig="1g.10gb", **small)
    client = ask(gpu="A100-80", mps=7, **small)
    turn = ask(gpu="A100-80", timeSlicing=7, **small)
    found = [answer.device for answer in (whole, sliced, client, turn)]
    assert [d.kind for d in found if d] == [
        DeviceShare.WHOLE,
        DeviceShare.MIG,
        DeviceShare.MPS,
        DeviceShare.TIME_SLICE,
    ]
    assert [d.usable_bytes >> 20 for d in found if d] == [81_152, 9_728, 11_702, 11_702]
    speeds = [a.speed.token_seconds for a in (whole, sliced, client, turn) if a.speed]
    # Measured with seven pods: MPS 1.93 times the work of one, time-slicing 1.11 times the time.
    assert speeds[2] / speeds[0] == pytest.approx(7 / 1.93)
    assert speeds[3] / speeds[0] == pytest.approx(7 * 1.11)
    assert speeds[1] / speeds[0] == pytest.approx(8)


def test_memory_of_a_slice_that_nobody_published_is_assumed_and_said() -> None:
    answer = ask(gpu="B300", mig="1g.34gb", model="Llama-3.2-1B")
    assert "mig-memory-assumed" in codes(answer)
    assert answer.device is not None
    assert answer.device.memory_basis is Basis.ASSUMED


def test_a_stated_count_is_assumed_throughout() -> None:
    answer = ask(model="7B")
    assert answer.ledger is not None
    assert "model-shape-assumed" in codes(answer)
    assert {item.basis for item in answer.ledger.items} == {Basis.ASSUMED}
    assert answer.ledger["weights"].bytes == 14 * 10**9


def test_names_are_found_as_people_write_them() -> None:
    for name in ("llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct"):
        answer = ask(model=name)
        assert answer.model is not None
        assert answer.model.name == "Llama-3.1-8B"


def test_compiled_training_on_one_node_is_bound_by_arithmetic() -> None:
    """Communication over NVLink hides behind arithmetic, so the part of the peak comes out again.
    Published: 6,667 tokens/s/GPU (training_speeds.py)."""
    answer = ask(
        workload="pre-training",
        context=8192,
        batch=2,
        precision="amp",
        checkpointing="selective",
        compile=True,
        gpu="H100",
        parallelism={"data": 8, "sharding": "zero3"},
    )
    speed = answer.speed
    assert isinstance(speed, TrainingSpeed)
    assert answer.model is not None
    flops = 6 * count_parameters(answer.model).active
    assert speed.flops_per_token > flops
    reached = speed.tokens_per_second * speed.flops_per_token / (8 * 989e12)
    assert reached == pytest.approx(speed.mfu)
    assert speed.tokens_per_second / 8 == pytest.approx(6667, rel=0.25)
    assert speed.binding == "compute"


def test_a_slow_network_binds_training_and_efa_does_not() -> None:
    job = {
        "model": "Llama-3.1-70B",
        "workload": "pre-training",
        "gpu": "H100",
        "checkpointing": "full",
        "parallelism": {"data": 64, "sharding": "zero3"},
    }
    slow = ask(**job, network={"kind": "ethernet", "gigabitsPerSecond": 100}).speed
    fast = ask(**job, network={"kind": "efa", "gigabitsPerSecond": 3200}).speed
    assert isinstance(slow, TrainingSpeed)
    assert isinstance(fast, TrainingSpeed)
    assert (slow.binding, fast.binding) == ("communication", "compute")
    # 6N bytes a node: 420 GB take 34 s at 100 Gb/s, before the share that Ethernet sustains. The
    # eight GPUs of a node receive the same weights: they pass its network once.
    assert slow.communication_seconds == pytest.approx(34 / 0.7 * 63 / 64, rel=0.02)


def test_nvlink_is_halved_and_pcie_is_the_fallback() -> None:
    link = nvlink(CATALOGUE.gpu("H200-141GB"), "sxm")
    assert link is not None
    assert link.bytes_per_second == pytest.approx(396e9)
    assert nvlink(CATALOGUE.gpu("L40S"), "pcie") is None
    assert inside_node(CATALOGUE.gpu("L40S"), "pcie").kind == "pcie"


def test_fp32_takes_twice_the_activations() -> None:
    half, full = (
        size(
            SizeRequest(model="Qwen3-0.6B", workload="embedding", context=512, weights=form),
            CATALOGUE,
        ).ledger
        for form in ("bf16", "fp32")
    )
    assert half is not None
    assert full is not None
    assert full["activations"].bytes == 2 * half["activations"].bytes

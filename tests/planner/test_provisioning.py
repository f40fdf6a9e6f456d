from dataclasses import replace
from fractions import Fraction

from gpufleet.catalogue import load
from gpufleet.models.parallel import Parallelism, Sharding
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.planning.choice import choose
from gpufleet_planner.planning.need import Allowed, ServingTarget, WorkloadNeed, resolve
from gpufleet_planner.planning.offers import Market, machines
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.provisioning import (
    disk_gib,
    validate_gpu,
    validate_provisioning,
)
from gpufleet_planner.planning.training_choice import rdma
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_rates import exchanged_bytes
from gpufleet_planner.sizing.training_state import adapter_parameters

CATALOGUE = load()
EKS = Market(("eks",), "us-east-1")


def best(**request: object) -> tuple[WorkloadNeed, Option]:
    need, _ = resolve(SizeRequest(**request), ServingTarget(), Allowed(), CATALOGUE)  # type: ignore[arg-type]
    assert need is not None
    option = choose(need, EKS, CATALOGUE).best
    assert option is not None
    return need, option


def test_an_h100_for_3b_is_over_provisioned_with_the_price_of_the_alternative() -> None:
    need, _ = resolve(
        SizeRequest(model="Llama-3.2-3B", context=4096), ServingTarget(), Allowed(), CATALOGUE
    )
    assert need is not None
    everything = choose(need, EKS, CATALOGUE)
    stated = choose(need, replace(EKS, gpus=("H100-80GB",)), CATALOGUE)
    (found,) = validate_gpu(stated, everything, "H100-80GB")
    assert found.code == "over-provisioned"
    assert "6.88 USD/h" in found.message
    assert "0.526" in found.message
    cheap = choose(need, replace(EKS, gpus=("T4",)), CATALOGUE)
    assert validate_gpu(cheap, everything, "T4") == ()


def test_memory_use_is_judged_both_ways() -> None:
    need, option = best(model="Llama-3.1-8B", context=8192)
    reached = option.reached
    for use, code in ((0.2, "over-provisioned-memory"), (0.99, "under-provisioned-memory")):
        changed = replace(
            option, reached=replace(reached, need_bytes=int(use * reached.usable_bytes))
        )
        assert [f.code for f in validate_provisioning(need, changed)] == [code]
    idle = replace(
        option,
        reached=replace(
            reached,
            need_bytes=reached.usable_bytes // 2,
            tokens_per_second=1000.0,
            asked_tokens_per_second=100.0,
        ),
    )
    assert [f.code for f in validate_provisioning(need, idle)] == ["over-provisioned-rate"]


def test_a_machine_with_too_little_memory_is_named_with_its_figures() -> None:
    need, option = best(model="Llama-3.1-8B", context=8192)
    poor = replace(option, machine=replace(option.machine, memory_bytes=8 << 30))
    found = {f.code: f for f in validate_provisioning(need, poor)}
    assert "15 GiB" in found["machine-memory-short"].message
    unknown = replace(option, machine=replace(option.machine, memory_bytes=None))
    assert list(validate_provisioning(need, unknown)) == []


def test_the_root_disk_holds_images_and_weights() -> None:
    assert disk_gib(0) == 200
    assert disk_gib(141 * 10**9) == 250
    assert disk_gib(812 * 10**9) == 900


def test_the_rdma_rule_by_its_published_example() -> None:
    # 70B: about 420 GB per node and step, 1 s at 3,200 Gb/s, 34 s at 100 Gb/s (raw line rates).
    need, _ = best(model="Llama-3.1-70B", workload="qlora", context=512)
    job = Training(context=512)
    rows = {m.name: m for m in machines(EKS, CATALOGUE, interruptible=False, job=True)}
    fast = rows["p5.48xlarge"]
    split = Parallelism(data=16, sharding=Sharding.ZERO3)
    verdict = rdma(need.model, job, split, fast, 2.0)
    assert verdict is not None
    assert verdict.bytes_per_step // 10**9 == 423
    assert 1.0 < verdict.plain_seconds < 1.6
    assert verdict.needed
    slow = rdma(need.model, job, split, replace(fast, network_gbps=100.0), 100.0)
    assert slow is not None
    assert 34 < slow.plain_seconds < 50
    assert slow.needed
    assert not rdma(need.model, job, split, fast, 10.0).needed  # type: ignore[union-attr]
    assert rdma(need.model, job, split, replace(fast, network_gbps=None), 1.0) is None
    assert fast.fraction == Fraction(1)


def test_adapters_move_little_and_a_divided_base_is_gathered_as_it_is_stored() -> None:
    need, _ = best(model="Llama-3.1-70B", workload="qlora", context=512)
    [job, *_] = need.training
    adapters = adapter_parameters(need.model, job.rank, job.targets)
    copies = exchanged_bytes(need.model, job, Parallelism(data=16))
    assert copies == 4 * adapters
    divided = Parallelism(data=16, sharding=Sharding.ZERO3)
    stored = weight_bytes(need.model, job.base).stored
    assert exchanged_bytes(need.model, job, divided) == 2 * stored + 4 * adapters
    # Every micro-batch gathers again, and gradients are reduced once.
    four = exchanged_bytes(need.model, replace(job, accumulation=4), divided)
    assert four == 8 * stored + 4 * adapters
    full = Training(context=512)
    total = count_parameters(need.model).total
    assert exchanged_bytes(need.model, full, divided) == 6 * total
    assert exchanged_bytes(need.model, full, Parallelism(data=16)) == 4 * total


def test_a_price_of_another_region_is_assumed() -> None:
    request = SizeRequest(model="Llama-3.1-8B", context=2048)
    need, _ = resolve(request, ServingTarget(), Allowed(), CATALOGUE)
    assert need is not None
    found = choose(need, Market(("eks",), "eu-west-1"), CATALOGUE)
    assert found.best is not None
    assert found.best.machine.price_basis.value == "assumed"
    assert [f.code for f in found.findings] == ["price-of-other-region"]

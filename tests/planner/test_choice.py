"""The chosen options, the rejected ones and the reasons, by sections of the published rules."""

from fractions import Fraction
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.models.ledger import Basis
from gpufleet_planner.planning.choice import ServingChoice, choose
from gpufleet_planner.planning.need import (
    Allowed,
    Assurance,
    Isolation,
    ServingTarget,
    WorkloadNeed,
    resolve,
)
from gpufleet_planner.planning.offers import Market
from gpufleet_planner.sizing.device import DeviceShare
from gpufleet_planner.sizing.request import SizeRequest
from tests.planner.plan_files import owned

CATALOGUE = load()
EKS = Market(("eks",), "us-east-1")


def need(
    target: ServingTarget | None = None,
    allowed: Allowed | None = None,
    confidence: Assurance = Assurance.EXPECTED,
    **request: Any,
) -> WorkloadNeed:
    target, allowed = target or ServingTarget(), allowed or Allowed()
    asked = SizeRequest(**request)
    found, findings = resolve(asked, target, allowed, CATALOGUE, confidence=confidence)
    assert found is not None, findings
    return found


def choice(
    target: ServingTarget | None = None,
    allowed: Allowed | None = None,
    market: Market = EKS,
    **request: Any,
) -> ServingChoice:
    return choose(need(target, allowed, **request), market, CATALOGUE)


def single(found: ServingChoice, gpu: str) -> bool:
    """Whether one whole GPU of the kind is among the options."""
    return any(
        o.machine.gpu.key == gpu and o.reached.gpus_each == 1 and o.share.kind is DeviceShare.WHOLE
        for o in found.options
    )


def test_a_small_model_gets_a_small_gpu() -> None:
    found = choice(model="Llama-3.2-3B", context=4096, batch=8, prompt=512, output=256)
    best = found.best
    assert best is not None
    assert best.machine.name == "g4dn.xlarge"
    assert best.reached.precision == "fp16"  # no BF16 before compute capability 8.0
    assert float(best.billed_micro_usd or 0) == 526_000
    h100 = [o for o in found.options if o.machine.gpu.key == "H100-80GB"]
    assert h100
    assert "more" in found.lost_to_best(h100[0])


def test_13b_in_16_bit_is_not_for_a_24_gb_card() -> None:
    found = choice(model="Llama-2-13B", context=2048)
    assert not single(found, "L4")
    lost = next(r for r in found.rejected if r.what == "L4, bf16")
    assert lost.miss.code == "memory"
    assert "22.0 GiB usable" in lost.miss.reason


@pytest.mark.parametrize(
    ("weights", "gpu", "fits"),
    [
        ("bf16", "A100-40GB", False),
        ("bf16", "H200-141GB", False),
        ("fp8", "H200-141GB", True),
        ("awq-int4", "H100-80GB", True),
        ("awq-int4", "A100-80GB", True),
    ],
)
def test_70b_on_one_gpu_depends_on_the_format(weights: str, gpu: str, fits: bool) -> None:
    found = choice(model="Llama-3.1-70B", context=2048, weights=weights)
    assert single(found, gpu) is fits


def test_a_format_the_gpu_has_no_units_for_is_named() -> None:
    found = choice(model="Llama-3.1-8B", context=2048, weights="fp8")
    lost = next(r for r in found.rejected if r.gpu == "T4")
    assert lost.miss.code == "precision"
    assert "8.0" in lost.miss.reason


def test_full_fine_tuning_of_3b_is_not_for_22_gib_and_lora_is() -> None:
    full = choice(model="Llama-3.2-3B", workload="full-fine-tuning", context=4096, batch=2)
    assert not single(full, "L4")
    lora = choice(model="Llama-3.2-3B", workload="lora", context=768, batch=4)
    assert single(lora, "L4")


def test_70b_full_fine_tuning_takes_16_cards_and_qlora_one() -> None:
    request = {"model": "Llama-3.1-70B", "context": 2048, "gpu": None}
    h100 = Market(("eks",), "us-east-1", gpus=("H100-80GB",))
    full = choice(market=h100, workload="full-fine-tuning", **request)
    assert min(o.devices for o in full.options) >= 16
    qlora = choice(market=h100, workload="qlora", **request)
    assert single(qlora, "H100-80GB")


def test_ten_copies_of_a_1b_model_do_not_share_one_l4() -> None:
    found = choice(
        allowed=Allowed(replicas=10, isolation=Isolation.NONE),
        market=Market(("eks",), "us-east-1", gpus=("L4",)),
        model="Llama-3.2-1B",
        context=2048,
    )
    shared = [o for o in found.options if o.share.kind in (DeviceShare.MPS, DeviceShare.TIME_SLICE)]
    assert shared
    assert max(o.share.replicas for o in shared) < 10
    assert all(o.machines >= 2 for o in shared if o.machine.gpus == 1)


def test_gpus_without_mig_offer_no_slices() -> None:
    found = choice(
        allowed=Allowed(isolation=Isolation.HARDWARE), model="Qwen2.5-0.5B", context=2048
    )
    sliced = {o.machine.gpu.key for o in found.options if o.share.kind is DeviceShare.MIG}
    assert "A100-40GB" in sliced
    assert not sliced & {"L4", "A10G", "L40S", "T4", "V100-16GB"}
    assert all(o.share.kind in (DeviceShare.WHOLE, DeviceShare.MIG) for o in found.options)


def test_isolation_says_what_may_be_shared() -> None:
    kinds = {
        isolation: {
            o.share.kind
            for o in choice(
                allowed=Allowed(isolation=isolation), model="Qwen2.5-0.5B", context=2048
            ).options
        }
        for isolation in Isolation
    }
    assert kinds[Isolation.HARDWARE] == {DeviceShare.WHOLE, DeviceShare.MIG}
    assert kinds[Isolation.MEMORY] == {DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS}
    assert kinds[Isolation.NONE] == set(DeviceShare)


def test_a_slice_costs_its_part_of_the_machine() -> None:
    found = choice(allowed=Allowed(isolation=Isolation.HARDWARE), model="Qwen2.5-0.5B", context=512)
    parts = {
        (o.machine.name, o.share.profile): (o.part_micro_usd or 0) / 1e6
        for o in found.options
        if o.share.kind is DeviceShare.MIG and o.devices == 1
    }
    # The published comparison: H100 1g.10gb 0.98, A100-40 1g.5gb 0.39, A100-40 2g.10gb ... USD/h.
    assert parts["p5.4xlarge", "1g.10gb"] == pytest.approx(6.88 / 7)
    assert parts["p4d.24xlarge", "1g.5gb"] == pytest.approx(0.392, abs=0.001)


def test_large_training_never_shares_a_gpu() -> None:
    allowed = Allowed(isolation=Isolation.NONE, interruptible=True)
    found = choice(allowed=allowed, model="Qwen2.5-0.5B", workload="pre-training", context=1024)
    assert found.options
    assert {o.share.kind for o in found.options} == {DeviceShare.WHOLE}
    small = choice(allowed=allowed, model="Qwen2.5-0.5B", workload="lora", context=1024)
    assert {o.share.kind for o in small.options} == {DeviceShare.WHOLE, DeviceShare.MIG}


def test_spot_only_for_what_survives_it() -> None:
    request = {"model": "Llama-3.1-8B", "workload": "lora", "context": 2048}
    target = ServingTarget(tokens=10**8)
    steady = choice(target, **request)
    assert {o.machine.buy for o in steady.options} == {"onDemand"}
    either = choice(target, Allowed(interruptible=True), **request)
    assert {o.machine.buy for o in either.options} == {"onDemand", "spot"}
    assert either.best is not None
    assert steady.best is not None
    assert either.best.machine.buy == "spot"
    assert (either.best.usd_per_run or 0) < (steady.best.usd_per_run or 0)


def test_tensor_groups_over_pcie_are_timed() -> None:
    """Two all-reduces of a layer carry 2 bytes of each hidden value (Shoeybi et al.,
    arXiv:1909.08053): of a prompt of 2,048 tokens 160 x 2,048 x 8,192 x 2 bytes, a ring of four
    sends 1.5 times that, over at most 32 GB/s of PCIe 4."""
    found = choice(model="Llama-3.1-70B", context=4096)
    groups = {
        (o.machine.gpu.key, o.reached.parallel.tensor): o.reached
        for o in found.options
        if o.reached.parallel.pipeline == 1
    }
    slow = groups["L40S", 4]
    assert slow.basis is Basis.ASSUMED
    assert (slow.first_token_seconds or 0) > 160 * 2048 * 8192 * 2 * 1.5 / 32e9
    assert {r.miss.code for r in found.rejected if r.gpu == "L40S"} <= {"memory", "dearer"}


def test_a_stated_split_is_tried_on_every_gpu() -> None:
    request: dict[str, Any] = {
        "model": "DeepSeek-V3",
        "context": 8192,
        "parallelism": {"tensor": 8},
    }
    free = choice(**request)
    assert {o.machine.gpu.key for o in free.options} >= {"H200-141GB"}
    assert all(o.reached.parallel.tensor == 8 for o in free.options)
    named = Market(("eks",), "us-east-1", gpus=("RTX-PRO-6000-BLACKWELL-96GB",))
    asked = choice(market=named, gpu="RTX-PRO-6000-BLACKWELL-96GB", **request)
    assert asked.best is not None
    assert asked.best.reached.parallel.tensor == 8


def test_rdma_between_machines_where_gradients_take_long() -> None:
    found = choice(
        ServingTarget(tokens=10**10),
        model="Llama-3.1-70B",
        workload="pre-training",
        context=8192,
    )
    across = [o for o in found.options if o.machines > 1]
    assert across
    for option in across:
        assert option.fabric == option.machine.fabric
        link = "a plain network" if option.fabric == "none" else option.fabric
        assert any(note.endswith(f"machine and step over {link}") for note in option.notes)
    own = Market(("vsphere",), offers=(owned("H100-80GB", 8, 8, network_gbps=100.0),))
    slow = choice(
        ServingTarget(tokens=10**10),
        market=own,
        model="Llama-3.1-70B",
        workload="pre-training",
        context=8192,
    )
    assert not slow.options
    lost = [r for r in slow.rejected if r.miss.code == "network"]
    assert "100 Gb/s" in lost[0].miss.reason
    # 70.55e9 parameters x 6 bytes: three passes over the BF16 weights.
    assert any("423 GB per machine and step" in r.miss.reason for r in lost)


def test_a_limit_of_the_gpu_itself_is_said_once_and_not_for_each_number_of_gpus() -> None:
    found = choice(
        ServingTarget(tokens=10**9), model="Llama-3.1-8B", workload="pre-training", context=4096
    )
    of_the_gpu = [r for r in found.rejected if r.miss.code in ("precision", "speed-unknown")]
    assert {r.gpu for r in of_the_gpu} >= {"T4"}  # no BF16 before compute capability 8.0
    seen = [(r.gpu, r.miss.reason) for r in of_the_gpu]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("confidence", Assurance)
def test_targets_are_kept(confidence: Assurance) -> None:
    target = ServingTarget(first_token_ms=500, token_ms=20, requests_per_second=20)
    words = {"model": "Llama-3.1-8B", "context": 8192, "batch": 16, "prompt": 1024, "output": 256}
    found = choice(target, confidence=confidence, **words)
    for option in found.options:
        reached = option.reached
        assert max(reached.first_token_seconds or 9, 25 * (reached.token_seconds or 9)) <= 0.5
        lowest = (reached.tokens_per_second_range or (0.0, 0.0))[0]
        rate = lowest if confidence is Assurance.WORST else reached.tokens_per_second or 0
        assert rate >= 20 * 256 * (1 - 1e-9)
    assert found.best is not None
    hour = float(found.best.billed_micro_usd or 0)
    assert found.best.usd_per_million_tokens == pytest.approx(hour / 3600 / (20 * 256))


def test_a_stated_group_is_not_made_of_shares() -> None:
    asked = {"model": "Llama-3.1-8B", "context": 8192, "batch": 8, "prompt": 1024, "output": 256}
    found = choice(ServingTarget(requests_per_second=1), **asked, parallelism={"tensor": 2})
    assert found.options
    assert all(option.share.kind is DeviceShare.WHOLE for option in found.options)
    assert all(option.reached.parallel.tensor == 2 for option in found.options)


def test_a_target_that_no_one_reaches_says_what_is() -> None:
    target = ServingTarget(first_token_ms=1, requests_per_second=2)
    found = choice(target, model="Llama-3.1-70B", context=8192, prompt=2048, output=256)
    assert not found.options
    assert any("firstTokenMs" in problem.message for problem in found.findings)


def test_a_run_costs_its_hours_and_meets_its_deadline() -> None:
    target = ServingTarget(tokens=10**9, deadline_hours=30)
    found = choice(target, model="Llama-3.1-8B", workload="lora", context=2048, batch=2)
    assert found.best is not None
    for option in found.options:
        assert (option.reached.run_hours or 99) <= 30
        hour = float(option.billed_micro_usd or 0) / 1e6
        # Cluster Autoscaler keeps a machine that no pod needs for ten minutes.
        assert option.usd_per_run == pytest.approx(hour * ((option.reached.run_hours or 0) + 1 / 6))


def test_contradictory_targets_are_named_in_pairs() -> None:
    target = ServingTarget(tokens=10**11, deadline_hours=200, budget_usd="1000")
    found = choice(target, model="Llama-3.1-70B", workload="pre-training", context=8192)
    assert not found.options
    (problem,) = found.findings
    assert problem.code == "target-contradiction"
    assert problem.evidence["targets"] == ["deadlineHours", "budgetUsd"]
    assert "nearest for each" in problem.message


def test_a_contradiction_says_what_each_target_would_have_to_be() -> None:
    asked = {"model": "Llama-3.1-70B", "context": 8192}
    (problem,) = choice(ServingTarget(token_ms=10, budget_usd_per_hour="1"), **asked).findings
    assert problem.code == "target-contradiction"
    assert problem.fix is not None
    # Nothing at all runs it for a dollar, so giving up tokenMs does not help.
    assert problem.fix.startswith("raise budgetUsdPerHour to ")
    assert "tokenMs" not in problem.fix
    price = problem.fix.rpartition(" ")[2]
    assert choice(ServingTarget(token_ms=10, budget_usd_per_hour=price), **asked).options
    (problem,) = choice(ServingTarget(token_ms=10, budget_usd_per_hour="20"), **asked).findings
    budget, token = (problem.fix or "").split(" or ")
    budget, token = sorted((budget, token), key=lambda text: "token" in text)
    assert budget.startswith("raise budgetUsdPerHour to ")
    slower = float(token.rpartition(" ")[2])
    assert choice(ServingTarget(token_ms=slower, budget_usd_per_hour="20"), **asked).options


def test_one_target_out_of_reach_names_the_nearest() -> None:
    found = choice(ServingTarget(token_ms=0.5), model="Llama-3.1-70B", context=4096)
    (problem,) = found.findings
    assert problem.code == "target-unreachable"
    assert "B200" in problem.message
    reachable = float((problem.fix or "").removeprefix("write tokenMs of ").split(" ")[0])
    assert choice(ServingTarget(token_ms=reachable), model="Llama-3.1-70B", context=4096).options


def test_unpriced_machines_are_compared_in_gpu_hours() -> None:
    own = Market(("vsphere",), offers=(owned("A100-80GB", 8, 2), owned("L4", 4, 2)))
    found = choice(market=own, model="Llama-3.1-8B", context=2048)
    assert [f.code for f in found.findings] == ["price-missing"]
    assert found.best is not None
    assert found.best.billed_micro_usd is None
    assert found.best.machine.gpu.key == "L4"
    assert found.best.gpu_hours_per_hour == Fraction(4)
    budget = choice(
        ServingTarget(budget_usd_per_hour="5"), market=own, model="Llama-3.1-8B", context=2048
    )
    assert not budget.options
    assert {r.miss.code for r in budget.rejected} >= {"price-missing"}


def test_a_strict_plan_buys_nothing_without_a_price_of_its_region() -> None:
    """af-south-1: of all machines with GPUs, AWS's list of 2026-07-20 prices only G4dn there."""
    market = Market(("eks",), "af-south-1", strict_prices=True)
    found = choice(market=market, model="Llama-3.1-8B", context=2048)
    assert found.best is not None
    assert found.best.machine.gpu.key == "T4"
    assert found.best.machine.price_basis.value != "assumed"
    elsewhere = Market(("eks",), "mx-central-1", strict_prices=True)
    bought = choice(market=elsewhere, model="Llama-3.1-8B", context=2048).best
    assert bought is None or bought.billed_micro_usd is None


def test_the_quick_choice_is_the_thorough_one() -> None:
    for request in (
        {"model": "Llama-3.2-3B", "context": 4096, "batch": 8},
        {"model": "Llama-3.1-70B", "context": 4096, "weights": "fp8"},
        {"model": "Llama-3.1-8B", "workload": "lora", "context": 2048},
        {"model": "Llama-3.2-3B", "workload": "pre-training", "context": 4096},
    ):
        wanted = need(**request)
        quick = choose(wanted, EKS, CATALOGUE, thorough=False)
        assert quick.best == choose(wanted, EKS, CATALOGUE).best
        assert any(r.miss.code == "dearer" for r in quick.rejected)


def test_unknown_names_are_errors_with_the_nearest() -> None:
    found, findings = resolve(
        SizeRequest(model="Llama-9", context=1), ServingTarget(), Allowed(), CATALOGUE
    )
    assert found is None
    assert findings[0].code == "model-unknown"
    assert "Llama-2-7B" in (findings[0].fix or "")

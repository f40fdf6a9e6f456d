"""For any request: options keep the target, fit, are in order, and more never costs less."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet_planner.planning.choice import choose
from gpufleet_planner.planning.layouts import lay_out_pools
from gpufleet_planner.planning.need import Allowed, Isolation, ServingTarget, resolve
from gpufleet_planner.planning.offers import Market
from gpufleet_planner.sizing.request import SizeRequest
from tests.examples import ALL, examples
from tests.planner.plan_files import offered

CATALOGUE = load()
MODELS = ("TinyLlama-1.1B", "Llama-3.2-3B", "Llama-3.1-8B", "Gemma-2-9b", "Mixtral-8x7B")
requests = st.builds(
    SizeRequest,
    model=st.sampled_from(MODELS),
    context=st.sampled_from([1024, 4096, 16384]),
    batch=st.integers(1, 64),
    prompt=st.sampled_from([128, 512]),
    output=st.sampled_from([64, 256]),
)
targets = st.builds(
    ServingTarget,
    first_token_ms=st.none() | st.floats(50, 2000),
    token_ms=st.none() | st.floats(5, 80),
    requests_per_second=st.none() | st.floats(0.1, 30),
    budget_usd_per_hour=st.none() | st.integers(1, 100),
)
markets = st.sampled_from([Market(("eks",)), Market(("gke",)), Market(("eks", "gke"))])


@settings(max_examples=examples(30), deadline=None)
@given(requests, targets, st.sampled_from(Isolation), markets)
def test_options_keep_what_was_asked(
    request: SizeRequest, target: ServingTarget, isolation: Isolation, market: Market
) -> None:
    need, findings = resolve(request, target, Allowed(isolation=isolation), CATALOGUE)
    assert need is not None, findings
    found = choose(need, market, CATALOGUE)
    assert list(found.options) == sorted(found.options, key=lambda one: one.rank)
    for option in found.options:
        reached = option.reached
        assert reached.need_bytes <= reached.usable_bytes
        assert reached.copies * reached.batch >= request.batch
        if target.first_token_ms is not None:
            assert 1000 * (reached.first_token_seconds or 1e9) <= target.first_token_ms
        if target.token_ms is not None:
            assert 1000 * (reached.token_seconds or 1e9) <= target.token_ms
        if target.requests_per_second is not None:
            rate = (reached.tokens_per_second or 0) / (request.output or 1)
            assert rate >= target.requests_per_second
        if target.budget_usd_per_hour is not None:
            assert (option.billed_micro_usd or 1e18) <= target.budget_usd_per_hour * 1_000_000
        if option.billed_micro_usd is not None:
            assert (option.part_micro_usd or 0) <= option.billed_micro_usd * (1 + 1e-9)
    # Without options an error gives the reason.
    assert found.options or any(f.severity.value == "error" for f in found.findings)
    quick = choose(need, market, CATALOGUE, thorough=False)
    assert quick.best == found.best


@settings(max_examples=40 if ALL else 8, deadline=None)
@given(requests, st.floats(1, 20), st.floats(1, 3))
def test_more_throughput_never_costs_less(request: SizeRequest, rate: float, factor: float) -> None:
    costs: list[float] = []
    for asked in (rate, rate * factor):
        need, _ = resolve(request, ServingTarget(requests_per_second=asked), Allowed(), CATALOGUE)
        assert need is not None
        best = choose(need, Market(("eks",)), CATALOGUE).best
        costs.append(float("inf") if best is None else best.rank[1])
    assert costs[0] <= costs[1]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["A100-80GB", "H100-80GB", "A30-24GB", "H200-141GB"]),
    st.data(),
    st.sampled_from([1, 2, 4, 8]),
)
def test_layouts_hold_what_is_wanted(gpu_key: str, data: st.DataObject, gpus: int) -> None:
    gpu = CATALOGUE.gpu(gpu_key)
    assert gpu.mig is not None
    names = [p.name for p in gpu.mig.profiles.values() if not p.attributes]
    wanted = data.draw(
        st.dictionaries(st.sampled_from(names), st.integers(1, 40), min_size=1, max_size=4)
    )
    pools = lay_out_pools(gpu, wanted, gpus)
    found: Counter[str] = Counter()
    for pool in pools:
        found.update(offered(pool))
        assert sum(count for _, count in pool.gpus) <= gpus
    assert all(found[name] >= count for name, count in wanted.items())
    slices = [(gpu.mig.profiles[name], count) for name, count in wanted.items()]
    compute = sum(profile.compute_slices * count for profile, count in slices)
    memory = sum(profile.memory_slots * count for profile, count in slices)
    bought = sum(pool.nodes for pool in pools) * gpus
    assert bought >= compute / gpu.mig.compute_slices
    assert bought >= memory / gpu.mig.memory_slots

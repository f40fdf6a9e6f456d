"""Training with short sequences: no network is fast enough, and that is found without timing every
micro-batch of every spread."""

import pytest

from gpufleet.catalogue import load
from gpufleet_planner.planning import training_choice
from gpufleet_planner.planning.choice import choose
from gpufleet_planner.planning.need import Allowed, ServingTarget, resolve
from gpufleet_planner.planning.offers import Market
from gpufleet_planner.sizing.request import SizeRequest


def test_few_micro_batches_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """33,500 were, which took seconds; figures of 2026-11-23."""
    timed: list[int] = []
    real = training_choice.training_speed

    def counted(*arguments: object) -> object:
        timed.append(1)
        return real(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(training_choice, "training_speed", counted)
    request = SizeRequest(model="Llama-3.1-8B", workload="full-fine-tuning", context=16)
    need, _ = resolve(request, ServingTarget(), Allowed(), load())
    assert need is not None
    found = choose(need, Market(("eks", "gke", "openshiftAws", "openshiftGcp")), load())
    assert found.best is not None
    assert len(timed) < 8_000

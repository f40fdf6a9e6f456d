"""Memory of distributed training against published runs: many GPUs, context, tensor and pipeline
ranks, an optimizer in pages."""

from dataclasses import dataclass
from statistics import median

import pytest

from gpufleet.models.ledger import GIB
from gpufleet.models.parallel import Parallelism, Sharding
from gpufleet_planner.sizing.training import Training, training_ledger
from gpufleet_planner.sizing.training_state import Checkpointing, Loss, Optimizer, TrainingPrecision
from tests.planner.sizing.measurements import GB, ROWS, allocated, model

TITAN = "pytorch/torchtitan @ 31a17bf benchmarks/llama3_h100_202412_torchtitan.md"
TITAN_H200 = "pytorch/torchtitan @ bcdeaa3 benchmarks/llama3_8b_h200_2025-06_torchtitan.md"
TORCHTUNE = "pytorch/torchtune README of May 2024"
ZERO3 = Sharding.ZERO3


@dataclass(frozen=True)
class MemoryRun:
    case: str
    measured: float
    model: str
    job: Training
    parallel: Parallelism
    source: str = TITAN
    unit: int = GIB

    @property
    def error(self) -> float:
        found = training_ledger(model(self.model), self.job, self.parallel)
        return allocated(found) / self.unit / self.measured - 1


def titan(context: int, batch: int = 1, **more: object) -> Training:
    """Eager loss, as the 8 GPU rows of the same page fit it."""
    values = {"checkpointing": Checkpointing.FULL, "compiled": True} | more
    return Training(context, batch, precision=TrainingPrecision.AMP, **values)  # type: ignore[arg-type]


def long_contexts() -> list[MemoryRun]:
    small = {32768: (8, 83.9), 65536: (4, 84.2), 131072: (2, 84.0), 262144: (1, 84.5)}
    large = {32768: (8, 75.3), 65536: (4, 75.9), 131072: (2, 77.1), 262144: (1, 84.9)}
    found: list[MemoryRun] = []
    for context, (data, measured) in small.items():
        spread = Parallelism(data=data, context=8 // data, sharding=ZERO3)
        found.append(
            MemoryRun(f"8B at {context}", measured, "Llama-3.1-8B", titan(context), spread)
        )
    for context, (data, measured) in large.items():
        spread = Parallelism(tensor=8, pipeline=8, data=data, context=8 // data, sharding=ZERO3)
        job = titan(context, accumulation=8, loss_parallel=True)
        found.append(MemoryRun(f"405B at {context}", measured, "Llama-3.1-405B", job, spread))
    return found


SELECTIVE = {"checkpointing": Checkpointing.SELECTIVE}
RUNS = (
    MemoryRun("8B, 128 GPUs", 67.0, "Llama-3.1-8B", titan(8192, 2, compiled=False, **SELECTIVE),
              Parallelism(data=128, sharding=ZERO3)),
    MemoryRun("8B compiled, 128 GPUs", 62.0, "Llama-3.1-8B", titan(8192, 2, **SELECTIVE),
              Parallelism(data=128, sharding=ZERO3)),
    *long_contexts(),
    MemoryRun("70B, tensor 8, 256 GPUs", 71.9, "Llama-3.1-70B", titan(8192, 16, loss_parallel=True),
              Parallelism(tensor=8, data=32, sharding=ZERO3)),
    # 32 samples in as many micro-batches as there are stages, torchtitan's default of the time.
    MemoryRun("405B, 8 x 8, 512 GPUs", 82.5, "Llama-3.1-405B",
              titan(8192, 4, accumulation=8, loss_parallel=True),
              Parallelism(tensor=8, pipeline=8, data=8, sharding=ZERO3)),
    MemoryRun("70B, paged optimizer, 8 GPUs", 70.4, "Llama-2-70B",
              Training(4096, 4, precision=TrainingPrecision.BF16, optimizer=Optimizer.ADAMW_PAGED,
                       checkpointing=Checkpointing.FULL),
              Parallelism(data=8, sharding=ZERO3), TORCHTUNE, GB),
)  # fmt: skip
NEWER = (
    MemoryRun("8B FP8, 32 x H200", 47.96, "Llama-3.1-8B",
              titan(8192, 2, loss=Loss.COMPILED_CAST, **SELECTIVE),
              Parallelism(data=32, sharding=ZERO3), TITAN_H200),
    MemoryRun("8B FP8, 64 x H200", 46.97, "Llama-3.1-8B",
              titan(8192, 2, loss=Loss.COMPILED_CAST, **SELECTIVE),
              Parallelism(data=64, sharding=ZERO3), TITAN_H200),
)  # fmt: skip
"""Of June 2025, with torchtitan e7c0cae: `--training.compile` compiles the loss too since
pytorch/torchtitan#1033 of April. No constant was fitted to them."""


@pytest.mark.parametrize("run", [*RUNS, *NEWER], ids=lambda run: run.case)
def test_a_published_run_is_within_a_tenth(run: MemoryRun) -> None:
    assert abs(run.error) <= 0.10


def test_no_run_needs_a_tenth_more_than_computed() -> None:
    training = [
        row for row in ROWS if "full" in row.case or "LoRA" in row.case or "FSDP" in row.case
    ]
    errors = [run.error for run in (*RUNS, *NEWER)]
    errors += [row.error for row in training if not row.why]
    assert len(errors) >= 25
    assert median(map(abs, errors)) <= 0.06
    assert min(errors) >= -0.10


@pytest.mark.parametrize(
    ("optimizer", "hosted"),
    [
        (Optimizer.ADAMW, 0),
        (Optimizer.ADAMW_PAGED, 8),
        (Optimizer.ADAMW_8BIT_PAGED, 2),
        (Optimizer.ADAMW_OFFLOADED, 12),
    ],
)
def test_state_in_host_memory_takes_no_room_on_the_gpu(optimizer: Optimizer, hosted: int) -> None:
    """ZeRO-Offload (arXiv:2101.06840) keeps FP32 weights and both moments on the host: 12 of 16
    bytes; bitsandbytes pages the moments only."""
    found = training_ledger(model("Llama-3.1-8B"), Training(1024, optimizer=optimizer))
    parameters = found["weights"].bytes / 2
    away = [item for item in found.items if "in host memory" in item.formula]
    assert sum(item.bytes for item in away) == hosted * parameters
    assert not any(item.at_peak for item in away)

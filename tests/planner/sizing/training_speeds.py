"""Published training runs: tokens per second of each GPU, and the results of the formulas.

Every third row is held out: the constants of `training_rates` were fitted to the others.
`python -m tests.planner.sizing.training_speeds` prints every run; docs/sizing.md summarises them.
"""

from dataclasses import dataclass
from statistics import median

from gpufleet.catalogue import load
from gpufleet.models.architecture import Architecture
from gpufleet.models.parallel import Parallelism, Sharding
from gpufleet_planner.sizing.communication import Link, LinkKind, network
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.training import Training, TrainingMethod
from gpufleet_planner.sizing.training_rates import training_speed
from gpufleet_planner.sizing.training_state import Arithmetic, Checkpointing, TrainingFramework
from tests.planner.sizing.measurements import dense, model

FOUNDRY = "mosaicml/llm-foundry @ 061f2c7 scripts/train/benchmarking/README.md"
TITAN = "pytorch/torchtitan @ 31a17bf benchmarks/llama3_h100_202412_torchtitan.md"
TITAN_H200 = "pytorch/torchtitan @ bcdeaa3 benchmarks/llama3_8b_h200_2025-06_torchtitan.md"
NEMO = "NVIDIA/NeMo @ 070a0bb docs/source/performance/performance_summary.md"
BRIDGE = "NVIDIA-NeMo/Megatron-Bridge @ df0289c docs/performance-summary.md"

NONE, SELECTIVE, FULL = Checkpointing.NONE, Checkpointing.SELECTIVE, Checkpointing.FULL
_MPT = {
    "1b": (24, 2048, 16),
    "3b": (32, 2560, 20),
    "7b": (32, 4096, 32),
    "13b": (40, 5120, 40),
    "30b": (48, 7168, 56),
    "70b": (80, 8192, 64),
}


@dataclass(frozen=True)
class SpeedRun:
    case: str
    model: str
    gpu: str
    gpus: int
    context: int
    batch: int
    accumulation: int
    measured: float
    """Tokens per second of each GPU."""
    source: str
    checkpointing: Checkpointing = NONE
    fp8: bool = False
    compiled: bool = False
    megatron: bool = False
    lora: bool = False
    tensor: int = 1
    pipeline: int = 1
    context_ranks: int = 1
    interleaving: int = 1
    sharding: Sharding = Sharding.ZERO3
    gigabits: float = 3200
    """GPUs of each machine."""

    @property
    def architecture(self) -> Architecture:
        if self.model in _MPT:
            layers, hidden, heads = _MPT[self.model]
            return dense(f"MPT-{self.model}", layers, hidden, heads, 4 * hidden, 50368, plain=True)
        return model(self.model)

    @property
    def job(self) -> Training:
        return Training(
            self.context,
            self.batch,
            method=TrainingMethod.LORA if self.lora else TrainingMethod.FULL,
            accumulation=self.accumulation,
            checkpointing=self.checkpointing,
            compiled=self.compiled,
            interleaving=self.interleaving,
            framework=TrainingFramework.MEGATRON if self.megatron else TrainingFramework.PYTORCH,
            arithmetic=Arithmetic.FP8 if self.fp8 else Arithmetic.BF16,
        )

    @property
    def parallel(self) -> Parallelism:
        data = self.gpus // (self.tensor * self.pipeline * self.context_ranks)
        level = self.sharding if data > 1 else Sharding.NONE
        return Parallelism(
            tensor=self.tensor,
            pipeline=self.pipeline,
            context=self.context_ranks,
            data=data,
            sharding=level,
        )

    @property
    def predicted(self) -> float:
        device = whole_gpu(load().find_gpu(self.gpu))
        assert isinstance(device, Device)
        link: Link | None = None
        if self.gpus > 8:
            link = network(LinkKind.INFINIBAND, self.gigabits, 8)
        speed = training_speed(self.architecture, self.job, device, self.parallel, link)
        assert speed is not None
        return speed.tokens_per_second / self.gpus

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def _foundry(gpu: str, rows: str) -> list[SpeedRun]:
    """Model, context, GPUs, micro-batch, accumulation, tokens/s/GPU, checkpointing, as printed."""
    found: list[SpeedRun] = []
    for line in rows.strip().splitlines():
        name, context, gpus, batch, accumulation, measured, *marks = line.split()
        found.append(
            SpeedRun(
                f"MPT-{name} {context}, {gpus} x {gpu}{' FP8' * ('fp8' in marks)}",
                name,
                gpu,
                int(gpus),
                int(context),
                int(batch),
                int(accumulation),
                float(measured),
                FOUNDRY,
                FULL if "ckpt" in marks else NONE,
                fp8="fp8" in marks,
                gigabits=1600 if gpu == "A100-80GB" else 3200,
            )
        )
    return found


_H100 = """
70b 2048 64 8 4 1039 ckpt
70b 2048 32 2 16 882 ckpt
30b 4096 8 1 21 1802 ckpt
30b 2048 32 14 3 2308 ckpt
30b 2048 16 10 3 2263 ckpt
30b 2048 8 3 21 2002 ckpt
13b 16384 8 3 3 2985 ckpt
13b 4096 8 10 3 4717 ckpt
13b 2048 64 2 1 4800
13b 2048 8 2 1 4792
13b 1024 8 40 3 5502 ckpt
7b 32768 8 2 2 3318 ckpt
7b 8192 8 8 2 6935 ckpt
7b 4096 8 16 2 8611 ckpt
7b 2048 8 6 1 10643
7b 1024 8 64 2 10203 ckpt
3b 8192 8 3 6 16578
3b 4096 8 5 6 20964
3b 2048 16 10 3 24142
1b 8192 8 3 4 29157
1b 2048 8 14 1 45455
3b 8192 8 3 6 19146 fp8
3b 2048 8 10 6 30586 fp8
1b 8192 8 2 4 32010 fp8
"""
_A100 = """
70b 2048 64 8 4 410 ckpt
70b 2048 32 2 16 373 ckpt
30b 8192 8 1 21 574 ckpt
30b 4096 8 1 21 814 ckpt
30b 2048 8 3 21 916 ckpt
13b 16384 8 3 3 1431 ckpt
13b 8192 8 5 3 1795 ckpt
13b 4096 8 10 3 2060 ckpt
13b 2048 8 2 3 2262
7b 32768 8 2 2 1672 ckpt
7b 8192 8 8 2 3206 ckpt
7b 4096 8 16 2 3684 ckpt
7b 2048 8 6 2 4641
3b 8192 8 3 6 7695
3b 2048 8 10 2 10811
1b 8192 8 3 4 13814
1b 2048 8 14 4 20513
"""


def _titan(case: str, gpus: int, measured: float, **more: object) -> SpeedRun:
    values: dict[str, object] = {
        "checkpointing": SELECTIVE, "batch": 2, "context": 8192, "source": TITAN,
        "model": "Llama-3.1-8B", "gpu": "H100-80GB", "accumulation": 1,
    } | more  # fmt: skip
    return SpeedRun(case=case, gpus=gpus, measured=measured, **values)  # type: ignore[arg-type]


def _nvidia(case: str, gpus: int, measured: float, **more: object) -> SpeedRun:
    values: dict[str, object] = {
        "fp8": True, "megatron": True, "batch": 1, "context": 8192, "source": BRIDGE,
        "gpu": "H100-80GB", "sharding": Sharding.ZERO1,
    } | more  # fmt: skip
    return SpeedRun(case=case, gpus=gpus, measured=measured, **values)  # type: ignore[arg-type]


RUNS: tuple[SpeedRun, ...] = (
    *_foundry("H100-80GB", _H100),
    *_foundry("A100-80GB", _A100),
    _titan("torchtitan 8B, 8 x H100", 8, 5762),
    _titan("torchtitan 8B compiled, 8 x H100", 8, 6667, compiled=True),
    _titan("torchtitan 8B compiled FP8, 8 x H100", 8, 8532, compiled=True, fp8=True),
    _titan("torchtitan 8B, 128 x H100", 128, 5605),
    _titan("torchtitan 8B compiled, 128 x H100", 128, 6514, compiled=True),
    _titan("torchtitan 8B compiled FP8, 128 x H100", 128, 8380, compiled=True, fp8=True),
    _titan("torchtitan 8B compiled FP8, 32 x H200", 32, 10938, compiled=True, fp8=True,
           gpu="H200-141GB", source=TITAN_H200),
    _titan("torchtitan 8B compiled FP8, 64 x H200", 64, 10753, compiled=True, fp8=True,
           gpu="H200-141GB", source=TITAN_H200),
    _titan("torchtitan 8B at 32k FP8, 8 x H100", 8, 3890, compiled=True, fp8=True, batch=1,
           context=32768, checkpointing=FULL),
    _titan("torchtitan 8B at 64k FP8, context 2", 8, 2540, compiled=True, fp8=True, batch=1,
           context=65536, checkpointing=FULL, context_ranks=2),
    _titan("torchtitan 8B at 128k FP8, context 4", 8, 1071, compiled=True, fp8=True, batch=1,
           context=131072, checkpointing=FULL, context_ranks=4),
    _titan("torchtitan 70B FP8, tensor 8, 256 x H100", 256, 829, compiled=True, fp8=True, batch=16,
           model="Llama-3.1-70B", checkpointing=FULL, tensor=8),
    _nvidia("NeMo Llama-2-7B, 8 x H100", 8, 16847, model="Llama-2-7B", context=4096,
            accumulation=16, source=NEMO),
    _nvidia("NeMo Llama-2-13B, pipeline 4, 16 x H100", 16, 8646, model="Llama-2-13B",
            context=4096, accumulation=32, pipeline=4, interleaving=10, source=NEMO),
    _nvidia("NeMo Llama-2-70B, 4 x 4, 64 x H100", 64, 1707, model="Llama-2-70B", context=4096,
            accumulation=32, tensor=4, pipeline=4, interleaving=20, source=NEMO),
    _nvidia("NeMo Llama-3-8B, context 2, 8 x H100", 8, 12036, model="Llama-3.1-8B",
            accumulation=32, context_ranks=2, source=NEMO),
    _nvidia("NeMo Llama-3-70B, 4 x 4 x 2, 64 x H100", 64, 1533, model="Llama-3.1-70B",
            accumulation=64, tensor=4, pipeline=4, context_ranks=2, interleaving=5, source=NEMO),
    _nvidia("NeMo Llama-2-7B LoRA, 8 x H100", 8, 25206, model="Llama-2-7B", context=4096,
            accumulation=4, lora=True, source=NEMO),
    _nvidia("NeMo Llama-2-13B LoRA, 8 x H100", 8, 14161, model="Llama-2-13B", context=4096,
            accumulation=4, lora=True, source=NEMO),
    _nvidia("NeMo Llama-2-70B LoRA, 2 x 4, 8 x H100", 8, 2557, model="Llama-2-70B", context=4096,
            accumulation=32, tensor=2, pipeline=4, interleaving=20, lora=True, source=NEMO),
    _nvidia("Llama-3-8B FSDP, 8 x H100", 8, 14451, model="Llama-3.1-8B", accumulation=16,
            sharding=Sharding.ZERO3),
    _nvidia("Llama-3-70B, 4 x 8, 64 x H100", 64, 1621, model="Llama-3.1-70B", accumulation=128,
            tensor=4, pipeline=8, interleaving=5),
    _nvidia("Llama-3.1-405B, 8 x 8 x 2, 1024 x H100", 1024, 311, model="Llama-3.1-405B",
            accumulation=192, tensor=8, pipeline=8, context_ranks=2, interleaving=8),
    _nvidia("Llama-3-8B, 8 x B200", 8, 30624, model="Llama-3.1-8B", gpu="B200", batch=2,
            accumulation=8),
    _nvidia("Llama-3.1-405B, 4 x 8 x 2, 128 x B200", 128, 661, model="Llama-3.1-405B",
            gpu="B200", accumulation=32, tensor=4, pipeline=8, context_ranks=2, interleaving=8),
    _nvidia("gpt-oss-120b BF16, 64 x B200", 64, 13568, model="gpt-oss-120b", gpu="B200",
            context=4096, batch=4, accumulation=5, fp8=False),
    _nvidia("gpt-oss-120b BF16, pipeline 4, 64 x H100", 64, 5993, model="gpt-oss-120b",
            context=4096, accumulation=80, pipeline=4, fp8=False),
    _nvidia("Qwen3-30B-A3B, 16 x H100", 16, 8960, model="Qwen3-30B-A3B", context=4096,
            accumulation=64),
    _nvidia("Qwen3-30B-A3B, 8 x B200", 8, 27136, model="Qwen3-30B-A3B", gpu="B200", context=4096,
            batch=4, accumulation=16),
    _nvidia("Qwen3-235B-A22B, 2 x 8, 256 x H100", 256, 1633, model="Qwen3-235B-A22B",
            context=4096, accumulation=512, tensor=2, pipeline=8, interleaving=4),
    _nvidia("Qwen3-235B-A22B, pipeline 8, 256 x B200", 256, 3776, model="Qwen3-235B-A22B",
            gpu="B200", context=4096, accumulation=256, pipeline=8),
    _nvidia("DeepSeek-V3, pipeline 8, 256 x B200", 256, 3328, model="DeepSeek-V3", gpu="B200",
            context=4096, accumulation=128, pipeline=8, interleaving=2),
)  # fmt: skip
APART = RUNS[2::3]
"""Rows the constants were not fitted to."""
FITTED = tuple(run for run in RUNS if run not in APART)


def training_table() -> list[str]:
    lines = ["| run | tokens/s/GPU | computed | error | |", "|---|---|---|---|---|"]
    for run in RUNS:
        apart = "apart" if run in APART else "fitted"
        lines.append(
            f"| {run.case} | {run.measured:,.0f} | {run.predicted:,.0f} | "
            f"{100 * run.error:+.0f} % | {apart} |"
        )
    return lines


def factor(run: SpeedRun) -> float:
    """By how much prediction and measurement differ, at least 1."""
    ratio = run.predicted / run.measured
    return max(ratio, 1 / ratio)


if __name__ == "__main__":
    print("\n".join(training_table()))
    for name, runs in (("fitted", FITTED), ("apart", APART)):
        found = [factor(run) for run in runs]
        within = sum(f <= 1.25 for f in found)
        print(f"{name}: median {median(found):.3f}, {within} of {len(found)} within 1.25")

"""Published measurements and the results of the formulas for the same case.

`measured_page` writes their table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, median

from gpufleet.catalogue import load
from gpufleet.models.architecture import Architecture, Attention, FeedForward, LayerGroup
from gpufleet.models.catalogue_models import find_catalogue_model
from gpufleet.models.config_model import architecture_from_config
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving, serving_ledger
from gpufleet.models.ledger import Basis, Ledger
from gpufleet.models.parallel import Parallelism, Sharding
from gpufleet_planner.sizing.cache_capacity import capacity
from gpufleet_planner.sizing.training import Training, TrainingMethod, training_ledger
from gpufleet_planner.sizing.training_state import (
    AdapterTargets,
    Checkpointing,
    Loss,
    TrainingPrecision,
)
from tests.data.test_model_sizes import CONFIGS

MIB, GB, GIB = 1 << 20, 10**9, 1 << 30
UNIT_NAMES = {MIB: "MiB", GB: "GB", GIB: "GiB", 1: "tokens"}


@dataclass(frozen=True)
class Row:
    case: str
    measured: float
    unit: int
    predict: Callable[[], int]
    source: str
    tolerance: float = 0.05
    why: str = ""

    @property
    def predicted(self) -> float:
        return self.predict() / self.unit

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


def model(name: str) -> Architecture:
    """From the catalogue, or from its stored configuration."""
    found: object = find_catalogue_model(name, load())
    if name in CONFIGS and not isinstance(found, Architecture):
        found, _ = architecture_from_config(CONFIGS[name], name, "stored configuration")
    assert isinstance(found, Architecture), found
    return found


def dense(
    name: str, layers: int, hidden: int, heads: int, size: int, vocabulary: int, **more: object
) -> Architecture:
    kv = more.pop("kv", heads)
    plain = bool(more.pop("plain", False))
    return Architecture(
        name=name,
        hidden=hidden,
        vocabulary=vocabulary,
        tied_embeddings=False,
        groups=(
            LayerGroup(
                layers, Attention(heads, kv, hidden // heads), FeedForward(size, gated=not plain)
            ),
        ),
        basis=Basis.MODELLED,
        source="published configuration",
        layer_norm=plain,
    )


PHI = dense("phi-1.5", 24, 2048, 32, 8192, 51200, plain=True)
STABLELM = dense("StableLM-Alpha-3B", 16, 4096, 32, 16384, 50688, plain=True)
# litgpt stores the head that Falcon ties.
FALCON = dense("Falcon-7B", 32, 4544, 71, 18176, 65024, plain=True, kv=1)
QWEN_1_8B = dense("Qwen-1.8B", 24, 2048, 16, 5504, 151936)
QWEN_7B = dense("Qwen-7B", 32, 4096, 32, 11008, 151936)
LITGPT_TOKENS = 50
QWEN3 = "QwenLM/Qwen3 @ 7a2f61f speed_benchmark.md"
LITGPT = "Lightning-AI/litgpt @ 2685705 resource-tables.md, quantize.md"
TORCHTUNE = "pytorch/torchtune @ bd2a0fc README.md"
TORCHTITAN = "pytorch/torchtitan @ b5bcd76 llama3_h100_202412_torchtitan.md"
QWEN = "QwenLM/Qwen @ 2df8e8a README.md"


def allocated(ledger: Ledger) -> int:
    """The need as the framework's counter (`torch.cuda.max_memory_allocated`) shows it."""
    return sum(item.bytes for item in ledger.items if item.at_peak and item.in_allocator)


def plain(which: Architecture, tokens: int, weights: str = "bf16") -> Callable[[], int]:
    """Transformers-style generation; the framework's counter, no CUDA context."""
    # Of these checkpoints the one in FP8 stores its head.
    serving = Serving(
        tokens,
        engine=InferenceEngine.TRANSFORMERS,
        weights=WEIGHT_FORMATS[weights],
        head_apart=weights == "fp8",
    )
    return lambda: allocated(serving_ledger(which, serving))


def train(
    which: Architecture, parallel: Parallelism | None = None, **job: object
) -> Callable[[], int]:
    training = Training(**job)
    return lambda: allocated(training_ledger(which, training, parallel))


def lora(which: Architecture, tokens: int, batch: int, weights: str = "bf16") -> Callable[[], int]:
    return train(
        which,
        context=tokens,
        batch=batch,
        method=TrainingMethod.LORA,
        rank=8,
        targets=AdapterTargets.QUERY_VALUE,
        base=WEIGHT_FORMATS[weights],
    )


def qwen_lora(which: Architecture, tokens: int) -> Callable[[], int]:
    full = Checkpointing.FULL
    return train(which, context=tokens, method=TrainingMethod.LORA, rank=64, checkpointing=full)


def torchtune(**more: object) -> Callable[[], int]:
    bf16 = TrainingPrecision.BF16
    return train(model("Llama-3.2-3B"), context=4096, batch=2, precision=bf16, **more)


def torchtitan(*, compiled: bool) -> Callable[[], int]:
    return train(
        model("Llama-3.1-8B"),
        Parallelism(data=8, sharding=Sharding.ZERO3),
        context=8192,
        batch=2,
        precision=TrainingPrecision.AMP,
        checkpointing=Checkpointing.SELECTIVE,
        compiled=compiled,
    )


def vllm_tokens() -> int:
    serving = Serving(8192, utilisation=Fraction(9, 10), batched_tokens=8192)
    return capacity(model("Llama-3.1-8B"), serving, int(47.5 * GIB)).tokens


CHUNKED = {"compiled": True, "loss": Loss.CHUNKED}
PEFT = {"rank": 32, "targets": AdapterTargets.QUERY_VALUE, "method": TrainingMethod.LORA}
L3B = "Llama-3.2-3B full, BF16 AdamW, 2 x 4,096"

ROWS = (
    Row("Qwen3-0.6B BF16, 1 + 2,048", 1394, MIB, plain(model("Qwen3-0.6B"), 2049), QWEN3),
    Row("Qwen3-1.7B BF16, 1 + 2,048", 3412, MIB, plain(model("Qwen3-1.7B"), 2049), QWEN3),
    Row("Qwen3-1.7B BF16, 30,720 + 2,048", 6902, MIB, plain(model("Qwen3-1.7B"), 32768), QWEN3),
    Row("Qwen3-4B BF16, 1 + 2,048", 7973, MIB, plain(model("Qwen3-4B"), 2049), QWEN3),
    Row("Qwen3-4B BF16, 30,720 + 2,048", 12317, MIB, plain(model("Qwen3-4B"), 32768), QWEN3),
    Row("Qwen3-4B FP8, 1 + 2,048", 5281, MIB, plain(model("Qwen3-4B"), 2049, "fp8"), QWEN3),
    Row("Qwen3-4B AWQ, 1 + 2,048", 2915, MIB, plain(model("Qwen3-4B"), 2049, "awq-int4"), QWEN3),
    Row("phi-1.5 BF16 inference", 2.86, GB, plain(PHI, LITGPT_TOKENS), LITGPT),
    Row("phi-1.5 NF4 inference", 1.39, GB, plain(PHI, LITGPT_TOKENS, "nf4"), LITGPT),
    Row("StableLM-3B BF16 inference", 7.30, GB, plain(STABLELM, LITGPT_TOKENS), LITGPT),
    Row("StableLM-3B NF4 inference", 3.20, GB, plain(STABLELM, LITGPT_TOKENS, "nf4"), LITGPT),
    Row("Falcon-7B BF16 inference", 14.50, GB, plain(FALCON, LITGPT_TOKENS), LITGPT),
    Row("Falcon-7B NF4 inference", 5.72, GB, plain(FALCON, LITGPT_TOKENS, "nf4"), LITGPT),
    Row("phi-1.5 LoRA, 1,044 x 1", 4.82, GB, lora(PHI, 1044, 1), LITGPT),
    Row("phi-1.5 LoRA, 1,044 x 2", 6.76, GB, lora(PHI, 1044, 2), LITGPT),
    Row("phi-1.5 LoRA, 1,044 x 4", 10.68, GB, lora(PHI, 1044, 4), LITGPT),
    Row("StableLM-3B LoRA, 1,034 x 1", 9.69, GB, lora(STABLELM, 1034, 1), LITGPT),
    Row("StableLM-3B LoRA, 1,034 x 2", 12.10, GB, lora(STABLELM, 1034, 2), LITGPT),
    Row("StableLM-3B LoRA, 1,034 x 4", 16.92, GB, lora(STABLELM, 1034, 4), LITGPT),
    Row("StableLM-3B QLoRA NF4, 1,034 x 1", 6.35, GB, lora(STABLELM, 1034, 1, "nf4"), LITGPT),
    Row(L3B, 60.0, GIB, torchtune(), TORCHTUNE),
    Row(f"{L3B}, compile", 51.0, GIB, torchtune(compiled=True, loss=Loss.COMPILED), TORCHTUNE),
    Row(
        f"{L3B}, compile, chunked loss",
        42.9,
        GIB,
        torchtune(**CHUNKED),
        TORCHTUNE,
        tolerance=0.06,
        why="2 B per logit is too much for this loss",
    ),
    Row(
        f"{L3B}, compile, chunked loss, checkpointing",
        24.9,
        GIB,
        torchtune(checkpointing=Checkpointing.FULL, **CHUNKED),
        TORCHTUNE,
    ),
    Row(
        "Llama-3.2-3B LoRA r32 q,v, 4 x 768",
        22.29,
        GB,
        train(model("Llama-3.2-3B"), context=768, batch=4, **PEFT),
        "huggingface/peft @ 5d602fd MetaMathQA lora--llama-3.2-3B-rank32.json",
    ),
    Row(
        "Llama-3.1-8B FSDP 8, 2 x 8,192, selective",
        82.4,
        GIB,
        torchtitan(compiled=False),
        TORCHTITAN,
    ),
    Row(
        "Llama-3.1-8B FSDP 8, 2 x 8,192, selective, compile",
        77.0,
        GIB,
        torchtitan(compiled=True),
        TORCHTITAN,
    ),
    Row(
        "vLLM cache, Llama-3-8B, 47.5 GiB at 0.90, 8,192",
        211_968,
        1,
        vllm_tokens,
        "vllm-project/vllm pull request 4454",
    ),
    Row(
        "Qwen-1.8B LoRA r64, checkpointing, 2,048",
        11.0,
        GB,
        qwen_lora(QWEN_1_8B, 2048),
        QWEN,
        tolerance=0.21,
        why="the source names neither unit nor what it counts; its 8,192 row, twice the size, fits",
    ),
    Row("Qwen-1.8B LoRA r64, checkpointing, 8,192", 21.8, GB, qwen_lora(QWEN_1_8B, 8192), QWEN),
    Row("Qwen-7B LoRA r64, checkpointing, 2,048", 23.8, GB, qwen_lora(QWEN_7B, 2048), QWEN),
    Row("Qwen-7B LoRA r64, checkpointing, 8,192", 36.6, GB, qwen_lora(QWEN_7B, 8192), QWEN),
)


def memory_table() -> list[str]:
    lines = ["| case | measured | computed | error | source |", "|---|---|---|---|---|"]
    for row in ROWS:
        digits = 0 if row.unit in (1, MIB) else 2
        lines.append(
            f"| {row.case} | {row.measured:,.{digits}f} {UNIT_NAMES[row.unit]} "
            f"| {row.predicted:,.{digits}f} | {100 * row.error:+.1f} % | {row.source} |"
        )
    return lines


def memory_errors() -> tuple[float, float]:
    """Median and mean of the absolute errors."""
    errors = [abs(row.error) for row in ROWS]
    return median(errors), mean(errors)

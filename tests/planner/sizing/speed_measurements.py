"""Published speeds and the results of the formulas for the same case.

`measured_page` writes their table.
"""

from dataclasses import dataclass, replace

from gpufleet.catalogue import load
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.serving_rates import serving_replica
from tests.planner.sizing.measurements import model


@dataclass(frozen=True)
class SpeedRow:
    case: str
    measured: float
    model: str
    weights: str
    gpu: str
    tensor: int

    @property
    def predicted(self) -> float:
        """Output tokens per second of saturated TensorRT-LLM without a server (`trtllm-bench
        throughput`), 2,048 in and 128 out."""
        device = whole_gpu(load().find_gpu(self.gpu))
        assert isinstance(device, Device)
        serving = Serving(
            2176,
            prompt_tokens=2048,
            output_tokens=128,
            engine=InferenceEngine.TENSORRT_LLM,
            weights=WEIGHT_FORMATS[self.weights],
            kv_cache=KV_FORMATS["fp8"],
            max_sequences=2048,
        )
        parallel = Parallelism(tensor=self.tensor)
        replica = serving_replica(model(self.model), serving, device, parallel)
        assert replica is not None
        assert replica.profile is not None
        apart = {"server_step_seconds": 0.0, "server_sequence_seconds": 0.0}
        offline = replace(replica, profile=replace(replica.profile, **apart))
        return offline.tokens_per_second(replica.saturation)

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1


SPEEDS = (
    SpeedRow("Llama-70B FP8, H200", 442, "Llama-3.1-70B", "fp8", "H200", 1),
    SpeedRow("Llama-70B FP8, 2 x H100", 762, "Llama-3.1-70B", "fp8", "H100", 2),
    SpeedRow("Llama-70B FP4, B200", 1339, "Llama-3.1-70B", "nvfp4", "B200", 1),
    SpeedRow("Llama-70B FP4, RTX PRO 6000", 393, "Llama-3.1-70B", "nvfp4", "RTX-PRO-6000", 1),
    SpeedRow("Llama-405B FP8, 8 x H200", 456, "Llama-3.1-405B", "fp8", "H200", 8),
    SpeedRow("Llama-405B FP8, 8 x H100", 453, "Llama-3.1-405B", "fp8", "H100", 8),
    SpeedRow("Llama-8B FP8, H200", 3538, "Llama-3.1-8B", "fp8", "H200", 1),
    SpeedRow("Llama-8B FP8, H100", 3450, "Llama-3.1-8B", "fp8", "H100", 1),
)

# Bandwidth use at batch 1 on A100-80 (pytorch-labs/gpt-fast @ 32971d3): BF16.
BANDWIDTH = (
    ("Llama-2-7B", 1, 0.69),
    ("Llama-2-7B", 2, 0.58),
    ("Llama-2-7B", 4, 0.47),
    ("Llama-2-7B", 8, 0.35),
    ("Llama-2-70B", 2, 0.73),
    ("Llama-2-70B", 4, 0.66),
    ("Llama-2-70B", 8, 0.56),
)

# Tokens per second of Mixtral-8x7B at batch 1 on A100-80 (pytorch-labs/gpt-fast @ 056f8fb,
# mixtral-moe/README.md): format, GPUs, measured.
MIXTURE = (
    ("bf16", 2, 78.75),
    ("bf16", 4, 118.23),
    ("bf16", 8, 203.69),
    ("int8", 1, 56.04),
    ("int8", 2, 99.91),
    ("int8", 4, 149.53),
    ("int8", 8, 218.48),
)

# Milliseconds per token of DeepSeek-R1 FP8 on 8 x H200 (SGLang 0.5.7, 1,024 + 1,024 tokens:
# SemiAnalysisAI/InferenceX#870; TensorRT-LLM 0.21, 1,600 + 600: NVIDIA/TensorRT-LLM#5929, its
# fastest and slowest split): sequences, prompt, output, least, most.
LATENT = (
    (1, 1600, 600, 10.8, 13.8),
    (8, 1600, 600, 15.7, 18.2),
    (8, 1024, 1024, 12.8, 12.8),
    (16, 1024, 1024, 17.2, 17.2),
    (32, 1024, 1024, 25.6, 25.6),
    (64, 1024, 1024, 34.6, 34.6),
)


def latent_token_ms(batch: int, prompt: int, output: int) -> float:
    device = whole_gpu(load().find_gpu("H200-141GB"))
    assert isinstance(device, Device)
    serving = Serving(
        4096,
        batch=batch,
        prompt_tokens=prompt,
        output_tokens=output,
        weights=WEIGHT_FORMATS["fp8"],
    )
    replica = serving_replica(model("DeepSeek-R1"), serving, device, Parallelism(tensor=8))
    speed = None if replica is None else replica.speed(serving.batch)
    assert speed is not None
    return 1000 * speed.token_seconds


def mixture_tokens_per_second(weights: str, tensor: int) -> float:
    device = whole_gpu(load().find_gpu("A100-80GB"))
    assert isinstance(device, Device)
    serving = Serving(256, prompt_tokens=5, output_tokens=200, weights=WEIGHT_FORMATS[weights])
    replica = serving_replica(model("Mixtral-8x7B"), serving, device, Parallelism(tensor=tensor))
    speed = None if replica is None else replica.speed(serving.batch)
    assert speed is not None
    return 1 / speed.token_seconds


def speed_table() -> list[str]:
    lines = ["| case | measured | computed | error |", "|---|---|---|---|"]
    lines += [
        f"| {row.case} | {row.measured:,.0f} | {row.predicted:,.0f} | {100 * row.error:+.1f} % |"
        for row in SPEEDS
    ]
    return lines

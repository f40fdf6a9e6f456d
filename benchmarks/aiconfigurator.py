"""Serving under load compared with NVIDIA's AIConfigurator 0.12.0 (PyPI, in its own environment;
`AICONFIGURATOR` names its program). Both get the same model, GPUs, precision, prompt, output and
number of requests at once. Our figures: the mean first token of requests that arrive at random,
after the dash its 95th percentile, which plans use, in brackets the mean of clients that start
together; the mean time per token; tokens per second of clients that send their next request after
an answer. AIConfigurator interpolates kernels that NVIDIA measured (TensorRT-LLM 1.3.0rc20, vLLM
0.24, SGLang 0.5.14; vLLM 0.14 on A100) and multiplies the first token by its own queue model; our
figures are formulas of peak rates. Where NVIDIA published a load test of the point (NIM,
docs.nvidia.com/nim/benchmarking/llm/1.0.0), it is the third figure."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from gpufleet.catalogue import load
from gpufleet.models.architecture import Architecture
from gpufleet.models.catalogue_models import find_catalogue_model
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.serving_rates import PERCENTILE, serving_replica

ENGINES = {
    "trtllm": InferenceEngine.TENSORRT_LLM,
    "vllm": InferenceEngine.VLLM,
    "sglang": InferenceEngine.SGLANG,
}
GPUS = {
    "h100_sxm": "H100-80GB",
    "h200_sxm": "H200-141GB",
    "b200_sxm": "B200-180GB",
    "a100_sxm": "A100-80GB",
}
MODELS = {
    "Llama-3.1-8B": "meta-llama/Meta-Llama-3.1-8B",
    "Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B",
    "Qwen3-32B": "Qwen/Qwen3-32B",
    "Qwen3-30B-A3B": "Qwen/Qwen3-30B-A3B",
    "Qwen3-235B-A22B": "Qwen/Qwen3-235B-A22B",
    "DeepSeek-V3": "deepseek-ai/DeepSeek-V3",
}
TABLE = """
h100_sxm trtllm Llama-3.1-70B   fp8  2 5000  500   1 407,18.6,52
h100_sxm trtllm Llama-3.1-70B   fp8  2 5000  500   5 547,21.8,218
h100_sxm trtllm Llama-3.1-70B   fp8  2 5000  500  25 689,38.8,623
h100_sxm trtllm Llama-3.1-70B   fp8  2 5000  500  50 835,59.7,814
h100_sxm trtllm Llama-3.1-70B   fp8  2  500 2000   1 72,19.3,52
h100_sxm trtllm Llama-3.1-70B   fp8  2  500 2000  25 160,23.3,1033
h100_sxm trtllm Llama-3.1-70B   fp8  2  500 2000 100 293,32.8,2915
h100_sxm vllm   Llama-3.1-8B    bf16 1 1000  500   1 -
h100_sxm vllm   Llama-3.1-8B    bf16 1 1000  500  32 -
h100_sxm vllm   Qwen3-30B-A3B   bf16 1 1000 1000  32 -
h100_sxm sglang Qwen3-32B       fp8  1 2000  500  16 -
h200_sxm vllm   Llama-3.1-70B   fp8  1 2000  500  16 -
h200_sxm trtllm Qwen3-32B       bf16 1 4000  500   8 -
h200_sxm sglang Qwen3-235B-A22B fp8  8 4000  500  32 -
h200_sxm sglang DeepSeek-V3     fp8  8 1000 1000  32 -
b200_sxm trtllm Llama-3.1-70B   fp8  1 2000  500  32 -
b200_sxm vllm   Qwen3-32B       fp8  1 1000 1000  64 -
b200_sxm trtllm Qwen3-235B-A22B fp8  8 2000  500  64 -
a100_sxm vllm   Llama-3.1-8B    bf16 1 2000  500  16 -
a100_sxm vllm   Llama-3.1-70B   bf16 4 2000  500  16 -
"""


@dataclass(frozen=True)
class Point:
    system: str
    backend: str
    model: str
    form: str
    tensor: int
    prompt: int
    output: int
    at_once: int
    published: str

    @property
    def ours(self) -> tuple[float, float, float, float, float]:
        """Milliseconds to the first token, of the mean, as planned with and of clients that start
        together, and per token; output tokens per second."""
        catalogue = load()
        model = find_catalogue_model(self.model, catalogue)
        device = whole_gpu(catalogue.find_gpu(GPUS[self.system]))
        assert isinstance(model, Architecture)
        assert isinstance(device, Device)
        serving = Serving(
            self.prompt + self.output,
            prompt_tokens=self.prompt,
            output_tokens=self.output,
            engine=ENGINES[self.backend],
            weights=WEIGHT_FORMATS[self.form],
            kv_cache=KV_FORMATS[
                "fp8" if self.backend == "trtllm" and self.form == "fp8" else "bf16"
            ],
        )
        replica = serving_replica(model, serving, device, Parallelism(tensor=self.tensor))
        assert replica is not None
        first = replica.loaded_first_token_seconds(self.at_once)
        token = replica.loaded_token_seconds(self.at_once)
        rate = self.at_once * self.output / (first + (self.output - 1) * token)
        planned = replica.loaded_first_token_seconds(self.at_once, PERCENTILE)
        together = replica.together(self.at_once).first_token_seconds
        return 1000 * first, 1000 * planned, 1000 * together, 1000 * token, rate

    @property
    def command(self) -> list[str]:
        """Figures of AIConfigurator."""
        quantised = self.form == "fp8"
        mixture = "A" in self.model.rpartition("-")[2] or "DeepSeek" in self.model
        block = "DeepSeek" in self.model or "235B" in self.model
        gemm = ("fp8_block" if block else "fp8") if quantised else "bfloat16"
        cache = "fp8" if quantised and self.backend == "trtllm" else "bfloat16"
        words = (
            f"cli estimate --no-color --log-level ERROR --estimate-mode agg --system {self.system} "
            f"--backend {self.backend} --model-path {MODELS[self.model]} --tp-size {self.tensor} "
            f"--isl {self.prompt} --osl {self.output} --batch-size {self.at_once} "
            f"--gemm-quant-mode {gemm} --kvcache-quant-mode {cache}"
        )
        if mixture:
            words += f" --moe-quant-mode {gemm} --moe-tp-size 1 --moe-ep-size {self.tensor}"
        return words.split()


def points() -> Iterator[Point]:
    """The load points, in the order of the page."""
    for line in TABLE.split("\n"):
        if line:
            system, backend, model, form, *numbers, published = line.split()
            tensor, prompt, output, at_once = map(int, numbers)
            yield Point(system, backend, model, form, tensor, prompt, output, at_once, published)


def theirs(program: str, point: Point) -> tuple[float, float, float] | str:
    """AIConfigurator's estimate, or its last line where it has none."""
    done = subprocess.run(
        [program, *point.command], capture_output=True, text=True, timeout=300, check=False
    )
    found = [
        re.search(rf"^\s*{name}:\s*([0-9.,]+)", done.stdout, re.MULTILINE)
        for name in ("TTFT", "TPOT", "tokens/s")
    ]
    if not all(found):
        return (done.stdout + done.stderr).strip().rpartition("\n")[2][:120]
    first, token, rate = (float(one[1].replace(",", "")) for one in found if one is not None)
    return first, token, rate


def measure() -> Iterator[str]:
    """Rows of the report: ours, AIConfigurator's, the published figure."""
    program = os.environ["AICONFIGURATOR"]
    yield "| load | first token, ms | token, ms | tokens/s |"
    yield "|---|---|---|---|"
    apart: list[tuple[float, float]] = []
    for point in points():
        other = theirs(program, point)
        gpu = GPUS[point.system].partition("-")[0]
        name = (
            f"{point.model} {point.form.upper()}, {point.tensor} x {gpu}, {point.backend}, "
            f"{point.prompt} + {point.output}, {point.at_once} at once"
        )
        if isinstance(other, str):
            yield f"| {name} | AIConfigurator: {other} | | |"
            continue
        published = ("", "", "")
        if point.published != "-":
            published = tuple(f", {one} measured" for one in point.published.split(","))
        first, planned, together, token, rate = point.ours
        apart.append((factor(token, other[1]), factor(rate, other[2])))
        cells = (
            f"{first:,.0f} - {planned:,.0f} ({together:,.0f}), {other[0]:,.0f}{published[0]}",
            f"{token:.1f}, {other[1]:.1f}{published[1]}",
            f"{rate:,.0f}, {other[2]:,.0f}{published[2]}",
        )
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    tokens, rates = (max(one) for one in zip(*apart, strict=True))
    yield (
        f"Times per token differ by at most {tokens:.2f}, throughput by at most {rates:.2f}. Where "
        "first tokens were measured, ours are nearer for prompts of 5,000 tokens, AIConfigurator's "
        "for those of 500; what plans use covers both."
    )


def factor(one: float, other: float) -> float:
    """By how much one figure is larger than the other, whichever is."""
    return max(one / other, other / one)

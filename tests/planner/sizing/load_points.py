"""Published load tests: time to the first token, time per token and throughput by concurrency.

`python -m tests.planner.sizing.load_points` prints the table of docs/sizing.md.
"""

from dataclasses import dataclass

from gpufleet.catalogue import load
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.serving_rates import ServingReplica, serving_replica
from tests.planner.sizing.measurements import model

SOURCE = "docs.nvidia.com/nim/benchmarking/llm/1.0.0/performance, Llama-3.3-70b-instruct"
"""2 x H100 80G, FP8, tensor 2. The tables of 1.5.0 (performance-tables/llm-1_5-llama3_3-70b.html)
are in the order of those of 1.8.0, which name their lengths."""


@dataclass(frozen=True)
class LoadPoint:
    version: str
    prompt: int
    output: int
    concurrency: int
    first_token_ms: float
    token_ms: float
    tokens_per_second: float

    @property
    def case(self) -> str:
        return f"NIM {self.version}, {self.prompt} + {self.output}, {self.concurrency} at once"

    @property
    def replica(self) -> ServingReplica:
        device = whole_gpu(load().find_gpu("H100-80GB"))
        assert isinstance(device, Device)
        serving = Serving(
            self.prompt + self.output,
            prompt_tokens=self.prompt,
            output_tokens=self.output,
            engine=InferenceEngine.TENSORRT_LLM,
            weights=WEIGHT_FORMATS["fp8"],
            kv_cache=KV_FORMATS["fp8"],
            max_sequences=2048,
        )
        found = serving_replica(model("Llama-3.1-70B"), serving, device, Parallelism(tensor=2))
        assert found is not None
        return found

    @property
    def computed(self) -> tuple[float, float, float]:
        """Milliseconds to the first token and per token, tokens per second, of the mean request;
        each of the clients sends its next request when it has its answer."""
        replica = self.replica
        first = replica.loaded_first_token_seconds(self.concurrency)
        token = replica.loaded_token_seconds(self.concurrency)
        rate = self.concurrency * self.output / (first + (self.output - 1) * token)
        return 1000 * first, 1000 * token, rate


def _points(version: str, prompt: int, output: int, rows: str) -> tuple[LoadPoint, ...]:
    found: list[LoadPoint] = []
    for line in rows.strip().splitlines():
        concurrency, *values = line.split()
        found.append(LoadPoint(version, prompt, output, int(concurrency), *map(float, values)))
    return tuple(found)


LONG_PROMPTS = (
    *_points("1.8.0", 5000, 500, """
1 406.77 18.58 51.67
5 546.7 21.83 218.48
25 688.69 38.75 623.4
50 834.51 59.73 814.37
"""),
    *_points("1.5.0", 5000, 500, """
1 368.11 19.94 48.44
5 446.68 23.89 199.17
25 751.74 42.12 564.5
50 1083.13 63.72 738.78
"""),
)  # fmt: skip
SHORT_PROMPTS = _points("1.5.0", 500, 2000, """
1 71.82 19.26 51.84
5 109.62 20.04 237.72
25 159.62 23.28 1032.56
50 232.46 25.58 1880.75
100 293.19 32.83 2914.64
150 448.16 45.57 3096.87
""")  # fmt: skip
SHORTEST = _points("1.5.0", 200, 200, """
1 32.78 19.11 52.15
5 81.17 19.9 247.26
25 247.81 21.99 1080.83
50 377.42 23.94 1936.88
100 583.54 31.79 2886.57
150 831.88 44.81 3067.43
200 925.3 45.92 3947.82
250 1105.17 49.83 4521.68
""")  # fmt: skip
"""The third table of 1.5.0. Its lengths follow from its own figures: at 25 and 50 requests at once,
concurrency / throughput gives outputs of 189 to 198 tokens, and NIM's tests of that length have
prompts of 200. It was read on 2026-11-23, after the formulas of tokens and throughput were made."""
SATURATED = (
    *_points("1.8.0", 5000, 500, """
100 7996.25 92.91 917.26
150 34794.22 92.86 920.9
200 61680.22 93.06 920.54
250 88605.32 93.2 920.12
"""),
    *_points("1.5.0", 5000, 500, """
100 17754.93 87.55 777.31
150 46381.93 87.39 777.94
200 73326.6 87.64 777.02
"""),
)  # fmt: skip
"""More requests at once than the cache holds: the rest of the first tables. Read on 2026-11-23;
nothing was fitted to them."""
POINTS = (*LONG_PROMPTS, *SATURATED, *SHORT_PROMPTS, *SHORTEST)


def load_table() -> list[str]:
    lines = [
        "| load | first token, ms | token, ms | tokens/s |",
        "|---|---|---|---|",
    ]
    for point in POINTS:
        first, token, rate = point.computed
        lines.append(
            f"| {point.case} | {first:,.0f} of {point.first_token_ms:,.0f} | {token:.1f} of "
            f"{point.token_ms:.1f} | {rate:,.0f} of {point.tokens_per_second:,.0f} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(load_table()))

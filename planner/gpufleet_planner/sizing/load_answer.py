"""The modelled load test of one replica: its request and its result."""

from dataclasses import dataclass

from gpufleet.findings import Finding, findings_in
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.load_test import LoadFigures, at_random, drawn, load_test
from gpufleet_planner.sizing.request import LoadTestRequest, SizedWorkload, SizeRequest
from gpufleet_planner.sizing.serving_rates import ServingReplica
from gpufleet_planner.sizing.throughput import spread_of

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class LoadAnswer:
    """Means over all requests, as the tools report them."""

    first_token_seconds: float
    token_seconds: float
    token_seconds_range: tuple[float, float]
    """Lowest and highest that published load tests leave."""
    tokens_per_second: float
    """Output tokens of the whole test."""
    tokens_per_second_range: tuple[float, float]
    pauses: int
    """How often the engine evicts the cache of a sequence and computes it again."""


def validate_load_test(
    request: SizeRequest, workload: SizedWorkload | None, device: Device | None
) -> tuple[Finding, ...]:
    """Inputs of a load test that the request does not have."""
    if request.load_test is None:
        return ()
    found: list[Finding] = []
    if workload is not None and workload is not SizedWorkload.INFERENCE:
        found.append(_finding("load-test-not-followed/answers", workload=workload))
    if request.engine is InferenceEngine.TRANSFORMERS:
        found.append(_finding("load-test-not-followed/transformers"))
    if request.gpu is None:
        found.append(_finding("load-test-not-followed/gpu"))
    elif device is not None and device.rates is None:
        found.append(_finding("load-test-not-followed/rates", gpu=device.gpu.key))
    missing = [name for name in ("prompt", "output") if getattr(request, name) is None]
    found += [_finding("load-test-not-followed/mean", name, name=name) for name in missing]
    if request.load_test.rate is not None and request.load_test.clients is not None:
        found.append(_finding("load-test-not-followed/both"))
    return tuple(found)


def load_answer(asked: LoadTestRequest, replica: ServingReplica) -> LoadAnswer:
    """The test, followed step by step."""
    means = replica.prompt_tokens, replica.output_tokens
    times = None if asked.rate is None else at_random(asked.rate, asked.prompts)
    lengths = drawn(asked.lengths, asked.prompts, *means)
    found: LoadFigures = load_test(replica.loaded_engine(), lengths, asked.clients, times)
    at_once = asked.rate is None and asked.clients is None
    spread = spread_of(replica.kind, burst=at_once)
    least, most = spread.least, spread.most
    token, rate = found.token_seconds, found.tokens_per_second
    return LoadAnswer(
        first_token_seconds=found.first_token_seconds,
        token_seconds=token,
        token_seconds_range=(token * least, token * most),
        tokens_per_second=rate,
        tokens_per_second_range=(rate / most, rate / least),
        pauses=found.pauses,
    )


def load_answer_text(asked: LoadTestRequest, answer: LoadAnswer) -> str:
    """One line of text."""
    how = "all at once"
    if asked.rate is not None:
        how = f"{asked.rate:g} a second at random"
    elif asked.clients is not None:
        how = f"{asked.clients} clients"
    low, high = (1000 * seconds for seconds in answer.token_seconds_range)
    least, most = answer.tokens_per_second_range
    paused = f"; sequences paused for room {answer.pauses} times" if answer.pauses else ""
    return (
        f"load test of {asked.prompts} prompts, {how}, {asked.lengths} lengths, means over the "
        f"requests: first token {answer.first_token_seconds:.3f} s, "
        f"{1000 * answer.token_seconds:.1f} ms per token ({low:.1f} to {high:.1f}), "
        f"{answer.tokens_per_second:.0f} tokens/s ({least:.0f} to {most:.0f}){paused}"
    )

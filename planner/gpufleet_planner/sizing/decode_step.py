"""One decode step of a replica: what it reads, computes and moves, by the sequences in it.

Everything but the experts that a batch touches grows in a straight line with the batch, so the
slopes are worked out once and a plan can request thousands of batches.
"""

from dataclasses import dataclass

from gpufleet.models.architecture import (
    Architecture,
    CompressedAttention,
    ExpertFeedForward,
    LatentAttention,
)
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.inference import Serving
from gpufleet.models.kv_cache import sequence_bytes
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.sizing.communication import Link, forward_cost
from gpufleet_planner.sizing.throughput import Rate, attention_flops

EAGER_DECODE = 3.5
"""Transformers' eager decode is 3 to 4 times slower than an engine."""
REQUEST_SECONDS = 3e-3
"""Server and tokenizer before the engine has a prompt: fitted to two thirds of the load tests of
tests/data/load_points.csv."""


@dataclass(frozen=True, slots=True)
class _Mixtures:
    """Layers with experts of one kind."""

    layers: int
    experts: int
    per_token: int

    def touched(self, batch: float) -> float:
        """Distinct experts that a batch is expected to touch in all these layers, where each token
        chooses its own independently."""
        left = (1 - self.per_token / self.experts) ** batch
        return self.layers * self.experts * (1 - left)


@dataclass(frozen=True, slots=True)
class DecodeStep:
    """Cost of a step of one replica. Bytes are per GPU, operations over the GPUs of a stage."""

    rate: Rate
    mfu: float
    mbu: float
    pipeline: int
    """Stages work on different parts of the batch at the same time; each token passes through all
    stages, so every stage's weights are read for it."""
    ranks: int
    """GPUs that share the arithmetic of a stage."""
    slower: float
    """Factor of the framework's time over an engine's."""
    dense_bytes: float
    """Weights that every step reads: all but routed experts and looked-up embeddings."""
    expert_bytes: float
    """Weights of one expert in one layer."""
    mixtures: tuple[_Mixtures, ...]
    sequence_bytes: int
    """Cache of one sequence of the mean length."""
    sequence_operations: float
    moved_seconds: float
    """Communication of a step of no tokens: latency alone."""
    moved_seconds_per_token: float
    started_seconds: float
    """Kernels that wait for each other."""

    def read_bytes(self, batch: int, held: float | None = None) -> float:
        """Bytes that each GPU reads for one step of this number of sequences, whose cache is as
        large as that of `held` sequences of the mean length; None: each is of that length."""
        part = -(-batch // self.pipeline)
        experts = sum(mixture.touched(part) for mixture in self.mixtures) * self.expert_bytes
        cached = part * self.pipeline if held is None else held
        return self.dense_bytes + experts + cached * self.sequence_bytes

    def further_experts_seconds(self, batch: int, tokens: float) -> float:
        """Extra time of a step whose prompts of this number of tokens read experts beyond those
        that its sequences use."""
        part = -(-batch // self.pipeline)
        more = sum(one.touched(part + tokens) - one.touched(part) for one in self.mixtures)
        return more * self.expert_bytes / (self.rate.bandwidth * self.mbu)

    def operations(self, batch: int) -> float:
        """Arithmetic of that step."""
        return -(-batch // self.pipeline) * self.sequence_operations

    def parts(self, batch: int, held: float | None = None) -> tuple[float, float, float]:
        """Seconds of the step by what could bind it: bandwidth, compute, communication."""
        part = -(-batch // self.pipeline)
        return (
            self.read_bytes(batch, held) / (self.rate.bandwidth * self.mbu),
            self.operations(batch) / (self.ranks * self.rate.peak * self.mfu),
            self.moved_seconds + part * self.moved_seconds_per_token,
        )

    def seconds(
        self, batch: int, held: float | None = None, reading: float = 0.0, computing: float = 0.0
    ) -> float:
        """Seconds of the step; never less for more sequences. `reading` and `computing`: of prompts
        that share the pass."""
        bandwidth, compute, moved = self.parts(batch, held)
        bandwidth, compute = bandwidth + reading, compute + computing
        return (max(bandwidth, compute) + self.started_seconds) * self.slower + moved


def decode_step(
    model: Architecture,
    serving: Serving,
    parallel: Parallelism,
    link: Link,
    rate: Rate,
    mfu: float,
    mbu: float,
    waits: tuple[float, float, float],
) -> DecodeStep:
    """The step of one replica on such devices, joined by `link`. `waits`: microseconds in each
    layer, and further ones in a mixture and in latent attention."""
    stored = weight_bytes(model, serving.weights, serving.head_apart)
    ranks = max(parallel.tensor, parallel.expert)
    mixtures: list[_Mixtures] = []
    latent = 0
    for group in model.groups:
        block = group.feed_forward
        if isinstance(block, ExpertFeedForward):
            mixtures.append(_Mixtures(group.count, block.experts, block.per_token))
        if isinstance(group.mixer, LatentAttention | CompressedAttention):
            latent += group.count
    experts = sum(mixture.layers * mixture.experts for mixture in mixtures)
    layers = sum(mixture.layers for mixture in mixtures)
    # Embeddings are looked up, not read; a tied matrix is read once as the head.
    dense = float(stored.layers) + float(stored.head or stored.embeddings)
    started = sum(a * b for a, b in zip((model.layers, layers, latent), waits, strict=True))
    tokens = serving.mean_tokens
    fixed, each = forward_cost(model, parallel, link)
    return DecodeStep(
        rate=rate,
        mfu=mfu,
        mbu=mbu,
        pipeline=parallel.pipeline,
        ranks=ranks,
        slower=EAGER_DECODE if serving.engine is InferenceEngine.TRANSFORMERS else 1.0,
        dense_bytes=dense / parallel.tensor,
        expert_bytes=float(stored.experts) / experts / ranks if experts else 0.0,
        mixtures=tuple(mixtures),
        sequence_bytes=sequence_bytes(model, serving.kv_cache, tokens, parallel),
        sequence_operations=2 * count_parameters(model).multiplied + attention_flops(model, tokens),
        moved_seconds=fixed,
        moved_seconds_per_token=each,
        started_seconds=started / 1e6,
    )

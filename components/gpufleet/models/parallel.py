"""Division of one model over GPUs, and checks whether it is possible."""

from dataclasses import dataclass
from enum import StrEnum

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.models.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    ExpertFeedForward,
    LatentAttention,
)

_finding = findings_in(__file__)
_rules = rules_in(__file__)


class Sharding(StrEnum):
    """State that data-parallel ranks divide among themselves."""

    NONE = "none"
    """Every rank holds everything (DDP)."""
    ZERO1 = "zero1"
    """Optimizer state and master weights (Megatron calls it the distributed optimizer)."""
    ZERO2 = "zero2"
    """Gradients too."""
    ZERO3 = "zero3"
    """Weights too: FSDP full shard."""


@dataclass(frozen=True, slots=True)
class Parallelism:
    """Degrees of parallelism of one replica or job. All are 1 by default."""

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    """Ranks that share the experts. Serving: may exceed `tensor`, attention is then replicated.
    Training: a part of the data-parallel ranks."""
    context: int = 1
    """Ranks that share one sequence's tokens."""
    data: int = 1
    """Training: data-parallel ranks. Serving counts replicas elsewhere."""
    sharding: Sharding = Sharding.NONE
    sequence: bool = True
    """Sequence parallelism: norms and dropouts are divided by `tensor` as well."""

    @property
    def serving_gpus(self) -> int:
        """GPUs of one serving replica."""
        return max(self.tensor, self.expert) * self.pipeline * self.context

    @property
    def prompt_gpus(self) -> int:
        """GPUs that work on one prompt at the same time: it passes the pipeline's stages one after
        the other."""
        return self.serving_gpus // self.pipeline

    @property
    def training_gpus(self) -> int:
        """GPUs of the whole job; expert ranks are data-parallel ranks."""
        return self.tensor * self.pipeline * self.context * self.data


def stage_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each pipeline stage: as even as possible, earlier stages take the rest."""
    even, rest = divmod(layers, stages)
    return tuple(even + (stage < rest) for stage in range(stages))


def heads_per_gpu(kv_heads: int, tensor: int) -> int:
    """KV heads each GPU caches: beyond `tensor == kv_heads` the cache is replicated."""
    return max(-(-kv_heads // tensor), 1)


def check_parallelism(
    model: Architecture, parallel: Parallelism, path: str = "parallelism", *, training: bool = False
) -> tuple[Finding, ...]:
    """Every reason why the model cannot be divided like this, and warnings about waste."""
    findings: list[Finding] = []
    for name in ("tensor", "pipeline", "expert", "context", "data"):
        value = getattr(parallel, name)
        if value < 1:
            findings.append(
                _finding("parallelism-not-positive", f"{path}.{name}", name=name, value=value)
            )
    if findings:
        return tuple(findings)
    findings += _tensor(model, parallel.tensor, f"{path}.tensor")
    findings += _rules("parallelism", path, model=model, parallel=parallel)
    return (*findings, *_expert(model, parallel, f"{path}.expert", training))


def _tensor(model: Architecture, tensor: int, path: str) -> list[Finding]:
    findings: list[Finding] = []
    for mixer in dict.fromkeys(group.mixer for group in model.groups):
        if isinstance(mixer, Attention):
            heads, kv = mixer.query_heads, mixer.kv_heads
            even = kv % tensor == 0 or tensor % kv == 0
        elif isinstance(mixer, LatentAttention | CompressedAttention):
            heads, even = mixer.heads, True
            kv = heads
        else:
            continue
        if heads % tensor or not even:
            possible = [
                t for t in range(1, heads + 1) if heads % t == 0 and (kv % t == 0 or t % kv == 0)
            ]
            near = min(possible, key=lambda t: (abs(t - tensor), t))
            findings.append(
                _finding(
                    "tensor-parallel-uneven",
                    path,
                    value=tensor,
                    heads=heads,
                    kv=kv,
                    model=model.name,
                    near=near,
                    possible=possible,
                )
            )
            break
    return findings


def _expert(model: Architecture, parallel: Parallelism, path: str, training: bool) -> list[Finding]:
    if parallel.expert == 1:
        return []
    experts = [
        group.feed_forward.experts
        for group in model.groups
        if isinstance(group.feed_forward, ExpertFeedForward)
    ]
    if not experts:
        return [
            _finding(
                "expert-parallel-without-experts", path, model=model.name, value=parallel.expert
            )
        ]
    if min(experts) % parallel.expert:
        return [
            _finding("expert-parallel-uneven", path, value=parallel.expert, experts=min(experts))
        ]
    whole = parallel.data if training else parallel.expert
    part = parallel.expert if training else parallel.tensor
    if whole % part and parallel.tensor % parallel.expert:
        return [
            _finding(
                "expert-parallel-uneven/ranks",
                path,
                value=parallel.expert,
                tensor=parallel.tensor,
                data=parallel.data,
            )
        ]
    return []

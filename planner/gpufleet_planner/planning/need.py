"""One workload, resolved: what must run, what is allowed, what must be reached, and targets that
cannot be meant together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpufleet.catalogue import Catalogue
from gpufleet.documents.plain_data import camel
from gpufleet.findings import Finding, findings_in, has_errors, ordered
from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import (
    WEIGHT_FORMATS,
    WeightFormat,
    find_weight_format,
)
from gpufleet.models.inference import Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import DeviceShare
from gpufleet_planner.sizing.request import Count, RequestModel, SizedWorkload, SizeRequest
from gpufleet_planner.sizing.sized import request_parts, serving_of, training_of
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_state import Checkpointing, Loss

_finding = findings_in(__file__)

Amount = Annotated[float, Field(gt=0, le=1e12)]
Usd = Annotated[Decimal, Field(gt=0, le=10**9, max_digits=15, decimal_places=6)]


class Assurance(StrEnum):
    """With which of the speeds that published load tests leave a target is kept."""

    EXPECTED = "expected"
    """The computed one, which half of the measured loads reach."""
    WORST = "worst"
    """The lowest of the range, which nine of ten measured loads reach."""

    @property
    def other(self) -> "Assurance":
        """The one of the two that this is not."""
        return Assurance.WORST if self is Assurance.EXPECTED else Assurance.EXPECTED


class ServingTarget(RequestModel):
    """Limits a choice must keep. Left out: no limit, and the cheapest that fits is chosen."""

    first_token_ms: Amount | None = None
    """Longest time to the first token under the planned load, ms: of 95 % of the requests, which
    arrive at random."""
    token_ms: Amount | None = None
    """Longest mean time per output token under the planned load, milliseconds."""
    output_tokens_per_second: Amount | None = None
    """Output tokens per second of all replicas together."""
    requests_per_second: Amount | None = None
    """Requests per second, each of the stated mean `output`."""
    input_tokens_per_second: Amount | None = None
    """Embedding: input tokens per second of all replicas together."""
    tokens: Annotated[int, Field(ge=1, le=10**16)] | None = None
    """Training: tokens of the whole run."""
    deadline_hours: Amount | None = None
    """Training: longest run, hours."""
    budget_usd_per_hour: Usd | None = None
    """Most this workload may cost per hour, whole machines."""
    budget_usd: Usd | None = None
    """Training: most the whole run may cost."""

    def output_rate(self, mean_output: int | None) -> float | None:
        """Output tokens per second that must be served; None: no throughput is requested."""
        rates = [self.output_tokens_per_second or 0.0]
        if self.requests_per_second is not None:
            rates.append(self.requests_per_second * (mean_output or 0))
        return max(rates) or None


_SERVING = ("first_token_ms", "token_ms", "output_tokens_per_second", "requests_per_second")
_EMBEDDING = ("input_tokens_per_second",)
_TRAINING = ("tokens", "deadline_hours", "budget_usd")


def check_target(
    target: ServingTarget, workload: SizedWorkload, mean_output: int | None
) -> Iterator[Finding]:
    """Every target that this kind of workload does not have, is incomplete, or contradicts another
    one whatever the hardware."""
    own = _TRAINING if workload.trains else _SERVING
    if workload is SizedWorkload.EMBEDDING:
        own = _EMBEDDING
    for name in (*_SERVING, *_EMBEDDING, *_TRAINING):
        if getattr(target, name) is not None and name not in own:
            yield _finding(
                "target-not-for-workload",
                f"target.{camel(name)}",
                workload=workload.value,
                name=camel(name),
                targets=", ".join(camel(n) for n in own),
            )
    if target.tokens is None:
        for name in ("deadline_hours", "budget_usd"):
            if getattr(target, name) is not None and workload.trains:
                yield _finding("target-incomplete/run", name=camel(name))
    if target.requests_per_second is not None and mean_output is None:
        yield _finding("target-incomplete/requests")
    elif target.requests_per_second is not None and target.output_tokens_per_second is not None:
        asked = target.requests_per_second * (mean_output or 0)
        if abs(asked - target.output_tokens_per_second) > 0.01 * asked:
            yield _finding(
                "target-contradiction/rates",
                targets=["requestsPerSecond", "outputTokensPerSecond"],
                requests_per_second=f"{target.requests_per_second:g}",
                mean_output=mean_output,
                asked=f"{asked:g}",
                output_tokens_per_second=f"{target.output_tokens_per_second:g}",
            )
    if (
        target.budget_usd_per_hour is not None
        and target.budget_usd is not None
        and target.budget_usd_per_hour > target.budget_usd
    ):
        yield _finding(
            "target-contradiction/budgets",
            targets=["budgetUsdPerHour", "budgetUsd"],
            budget_usd_per_hour=target.budget_usd_per_hour,
            budget_usd=target.budget_usd,
        )


class Isolation(StrEnum):
    """Workloads with which a workload may share a GPU."""

    HARDWARE = "hardware"
    """Own memory, own multiprocessors, own faults: a whole GPU or a MIG slice."""
    MEMORY = "memory"
    """An enforced memory limit is enough: MPS too. Its neighbours must be trusted."""
    NONE = "none"
    """Time-slicing too: nothing limits what neighbours take."""


MOST_GPUS = 256
"""GPUs of one job or service, unless more are allowed."""
Pods = Annotated[int, Field(ge=1, le=150_000)]
"""Pods of one workload: no cluster runs more (kubernetes.io, Considerations for large clusters)."""


class Allowed(RequestModel):
    """The choices that the author allows beyond the request itself."""

    precisions: Annotated[tuple[str, ...], Field(max_length=8)] = ()
    """Weight formats the plan may choose from. Default: the stated one, else 16 bit."""
    isolation: Isolation = Isolation.MEMORY
    """Least it must have for itself: memory allows MPS, none time-slicing too. Default memory."""
    interruptible: bool = False
    """Whether it survives that its machine is taken back. Default false: no spot."""
    replicas: Pods = 1
    """Fewest copies of a service."""
    most_gpus: Count = MOST_GPUS
    """Most GPUs of one job or service. Default 256."""
    global_batch: Count | None = None
    """Training: samples of one optimizer step."""
    goodput: Annotated[float, Field(gt=0, le=1)] | None = None
    """Training: part of the time that advances the run. Default: by published failure rates of jobs
    of that number of GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadNeed:
    """The need of one workload, as input of the choice."""

    name: str
    workload: SizedWorkload
    model: Architecture
    serving: tuple[Serving, ...]
    """One request for each allowed weight format, preferred first; empty for training."""
    training: tuple[Training, ...]
    """Ways to run the job, the fastest first: less memory for more arithmetic."""
    parallel: Parallelism | None
    """Stated by the author; None: free."""
    target: ServingTarget
    allowed: Allowed
    confidence: Assurance = Assurance.EXPECTED
    """With which speed of the range the target is kept."""
    batch_stated: bool = False
    """Training: whether the micro-batch is the author's; else it is searched."""
    hub: tuple[str, ...] = ()
    """Repositories of the Hugging Face Hub with the model, the first-named one first."""

    @property
    def is_doubtful(self) -> bool:
        """Whether a target rests on a speed that has a range."""
        target = self.target
        rates = (target.output_tokens_per_second, target.requests_per_second)
        asked = (*rates, target.token_ms, target.input_tokens_per_second)
        return not self.trains and any(one is not None for one in asked)

    @property
    def trains(self) -> bool:
        """Whether it is a job that ends."""
        return self.workload.trains


def resolve(
    request: SizeRequest,
    target: ServingTarget,
    allowed: Allowed,
    catalogue: Catalogue,
    name: str = "",
    confidence: Assurance = Assurance.EXPECTED,
) -> tuple[WorkloadNeed | None, tuple[Finding, ...]]:
    """The need of a request, or every finding that keeps it from being known."""
    findings: list[Finding] = []
    workload, found, cache = request_parts(request, catalogue, findings)
    stored = None
    if found is not None and workload is not None:
        stored = found.default_weights(workload)
    formats = _formats(request, allowed, stored)
    findings += [part for part in formats if isinstance(part, Finding)]
    if workload is not None:
        findings += check_target(target, workload, request.output)
        if workload.trains and allowed.precisions:
            findings.append(_finding("precisions-of-training", workload=workload.value))
    if has_errors(findings) or workload is None or found is None or cache is None:
        return None, ordered(findings)
    kept = tuple(form for form in formats if isinstance(form, WeightFormat))
    model = found.architecture
    if workload is SizedWorkload.EMBEDDING:
        model = replace(model, causal=False, has_head=False)
    stated = "parallelism" in request.model_fields_set
    need = WorkloadNeed(
        name=name or model.name,
        workload=workload,
        model=model,
        serving=()
        if workload.trains
        else tuple(serving_of(request, found, form, cache) for form in kept),
        training=_variants(request, workload, kept[0]) if workload.trains else (),
        parallel=Parallelism(**request.parallelism.model_dump()) if stated else None,
        target=target,
        batch_stated="batch" in request.model_fields_set,
        hub=found.hub,
        allowed=Allowed(**{one: getattr(allowed, one) for one in Allowed.model_fields}),
        confidence=confidence,
    )
    return need, ordered(findings)


def _formats(
    request: SizeRequest, allowed: Allowed, stored: str | None
) -> tuple[WeightFormat | Finding, ...]:
    if request.weights is not None:
        return (find_weight_format(request.weights),)
    if allowed.precisions:
        return tuple(
            find_weight_format(text, f"precisions[{index}]")
            for index, text in enumerate(allowed.precisions)
        )
    if stored is not None:
        return (WEIGHT_FORMATS[stored],)
    return (WEIGHT_FORMATS["bf16"], WEIGHT_FORMATS["fp16"])


def _variants(
    request: SizeRequest, workload: SizedWorkload, weights: WeightFormat
) -> tuple[Training, ...]:
    """The job as stated, then with what costs little: chunked loss, then checkpointing. Only where
    the author left it open."""
    base = training_of(request, workload, weights)
    said = request.model_fields_set
    variants = [base]
    if "loss" not in said:
        variants.append(replace(base, loss=Loss.CHUNKED))
    if "checkpointing" not in said:
        last = variants[-1]
        variants += [
            replace(last, checkpointing=Checkpointing.SELECTIVE),
            replace(last, checkpointing=Checkpointing.FULL),
        ]
    return tuple(variants)


ISOLATED = {
    Isolation.HARDWARE: (DeviceShare.WHOLE, DeviceShare.MIG),
    Isolation.MEMORY: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS),
    Isolation.NONE: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS, DeviceShare.TIME_SLICE),
}


def allowed_kinds(need: WorkloadNeed) -> tuple[DeviceShare, ...]:
    """Ways of sharing a workload may be given. Training shares hardware at most, and large training
    nothing: its peaks and speed would depend on strangers."""
    kinds = ISOLATED[need.allowed.isolation]
    if need.trains:
        kinds = tuple(kind for kind in kinds if kind in (DeviceShare.WHOLE, DeviceShare.MIG))
    # Jobs of several GPUs cannot either, by their group.
    return (DeviceShare.WHOLE,) if need.workload is SizedWorkload.PRE_TRAINING else kinds

"""What a workload must reach, and targets that cannot be meant together."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpufleet.findings import Finding, error
from gpufleet_planner.sizing.request import RequestModel, SizedWorkload

Amount = Annotated[float, Field(gt=0, le=1e12)]
Usd = Annotated[Decimal, Field(gt=0, le=10**9, max_digits=15, decimal_places=6)]


class Arrivals(StrEnum):
    """How requests come, which decides on the first token."""

    RANDOM = "random"
    """Each by itself, as from users."""
    TOGETHER = "together"
    """From clients that all start at once and stay in step, as in most load tests."""


class Confidence(StrEnum):
    """With which of the speeds that published load tests leave a target is kept."""

    EXPECTED = "expected"
    """The computed one, which half of the measured loads reach."""
    WORST = "worst"
    """The lowest of the range, which nine of ten measured loads reach."""

    @property
    def other(self) -> "Confidence":
        """The one of the two that this is not."""
        return Confidence.WORST if self is Confidence.EXPECTED else Confidence.EXPECTED


class ServingTarget(RequestModel):
    """Limits a choice must keep. Left out: no limit, and the cheapest that fits is chosen."""

    first_token_ms: Amount | None = None
    """Longest time to the first token under the planned load, ms: of 95 % of the requests, or the
    mean of clients that start together (`arrivals`)."""
    arrivals: Arrivals | None = None
    """How the requests come that `first_token_ms` is kept for; None: at random."""
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
        """Output tokens per second that must be served; None: no throughput is asked for."""
        rates = [self.output_tokens_per_second or 0.0]
        if self.requests_per_second is not None:
            rates.append(self.requests_per_second * (mean_output or 0))
        return max(rates) or None


_SERVING = (
    "first_token_ms",
    "arrivals",
    "token_ms",
    "output_tokens_per_second",
    "requests_per_second",
)
_EMBEDDING = ("input_tokens_per_second",)
_TRAINING = ("tokens", "deadline_hours", "budget_usd")
_CAMEL = {name: field.alias or name for name, field in ServingTarget.model_fields.items()}


def _serves(workload: SizedWorkload) -> bool:
    return not workload.trains and workload is not SizedWorkload.EMBEDDING


def check_target(
    target: ServingTarget, workload: SizedWorkload, mean_output: int | None, path: str = "target"
) -> tuple[Finding, ...]:
    """Every target that this kind of workload does not have, is incomplete, or contradicts another
    one whatever the hardware."""
    own = _TRAINING if workload.trains else _SERVING
    if workload is SizedWorkload.EMBEDDING:
        own = _EMBEDDING
    findings: list[Finding] = []
    for name in (*_SERVING, *_EMBEDDING, *_TRAINING):
        if getattr(target, name) is not None and name not in own:
            findings.append(
                error(
                    "target-not-for-workload",
                    f"{path}.{_CAMEL[name]}",
                    f"{_CAMEL[name]} says nothing about {workload.value}",
                    f"its targets are {', '.join(_CAMEL[n] for n in own)} and budgetUsdPerHour",
                    workload=workload.value,
                )
            )
    if target.tokens is None:
        for name in ("deadline_hours", "budget_usd"):
            if getattr(target, name) is not None and workload.trains:
                findings.append(
                    error(
                        "target-incomplete",
                        f"{path}.tokens",
                        f"{_CAMEL[name]} limits a run whose length is not stated",
                        "write tokens: how many the run trains on",
                    )
                )
    if target.arrivals is not None and target.first_token_ms is None and _serves(workload):
        findings.append(
            error(
                "target-incomplete",
                f"{path}.firstTokenMs",
                "arrivals says for which requests firstTokenMs is kept, and that is not stated",
                "write firstTokenMs, or leave arrivals out",
            )
        )
    if target.requests_per_second is not None and mean_output is None:
        findings.append(
            error(
                "target-incomplete",
                f"{path}.requestsPerSecond",
                "requestsPerSecond is a rate of requests whose length is not stated",
                "write the mean `prompt` and `output` of the workload in tokens",
            )
        )
    elif target.requests_per_second is not None and target.output_tokens_per_second is not None:
        asked = target.requests_per_second * (mean_output or 0)
        if abs(asked - target.output_tokens_per_second) > 0.01 * asked:
            findings.append(
                error(
                    "target-contradiction",
                    path,
                    f"requestsPerSecond {target.requests_per_second:g} x {mean_output} tokens is "
                    f"{asked:g} tokens/s, and outputTokensPerSecond says "
                    f"{target.output_tokens_per_second:g}",
                    "write one of the two",
                    targets=["requestsPerSecond", "outputTokensPerSecond"],
                )
            )
    if (
        target.budget_usd_per_hour is not None
        and target.budget_usd is not None
        and target.budget_usd_per_hour > target.budget_usd
    ):
        findings.append(
            error(
                "target-contradiction",
                path,
                f"budgetUsdPerHour {target.budget_usd_per_hour} is more in one hour than "
                f"budgetUsd {target.budget_usd} for the whole run",
                "lower budgetUsdPerHour, or raise budgetUsd",
                targets=["budgetUsdPerHour", "budgetUsd"],
            )
        )
    return tuple(findings)

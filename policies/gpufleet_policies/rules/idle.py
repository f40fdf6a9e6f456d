"""GPUs that are held by something that does not compute."""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from gpufleet_policies.facts import Container, PodGroup, Workload
from gpufleet_policies.facts.workload import GPU
from gpufleet_policies.money import Money, gpu_hour, share_part
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.hardware import priced, waste
from gpufleet_policies.rules.placement import candidates, gpu_requests, offering
from gpufleet_policies.rules.rule import Level, Violation, rule

_SLEEP = re.compile(
    r"(?:^|[\s;&|(])(?:/bin/|/usr/bin/)?sleep\s+(infinity|inf|\d+(?:\.\d+)?)([smhd]?)\b"
)
_TAIL = re.compile(r"(?:^|[\s;&|(])(?:/usr/bin/)?tail\s+(?:-[fF]|--follow)\s+/dev/null\b")
_WATCH = re.compile(r"while\s+(?:true|:|\[ 1 \])\s*;\s*do\s+nvidia-smi[^;]*;\s*sleep\b")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})


def waits_for_ever(container: Container, longest_sleep: int) -> str | None:
    """The words by which a container waits without end, or None.

    A finite sleep below the limit is a test, not a waste; a sleep in front of real work is not the
    last statement of its shell line and does not count.
    """
    image = container.image.found or ""
    words = container.words
    if words.is_absent and image.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0] == "pause":
        return f"image {image}"
    if not words.is_known or not words.value:
        return None
    program = words.value[0].rsplit("/", 1)[-1]
    if program == "pause" and len(words.value) == 1:
        return "pause"
    script = words.value[-1] if program in _SHELLS else " ".join(words.value)
    if _WATCH.search(script):
        return "a loop of nvidia-smi and sleep"
    last = re.split(r"&&|\|\||;|\n|(?<!&)&(?!&)", script.strip().rstrip(";& \n)"))[-1].strip()
    last = last.removeprefix("exec ").removeprefix("wait ").strip()
    if _TAIL.match(last):
        return "tail -f /dev/null"
    found = _SLEEP.match(last)
    if found is None:
        return None
    if found[1] in ("infinity", "inf"):
        return f"sleep {found[1]}"
    seconds = Decimal(found[1]) * _SECONDS[found[2]]
    return f"sleep {found[1]}{found[2]}" if seconds >= longest_sleep else None


@rule(
    "gpu-idle-command",
    "A container that holds a GPU and waits for ever.",
    subject=Workload,
    dev=Level.ADVISORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    formula="waste = pods x GPUs x GPU-hour x 730 h",
    source="idle rules of run-time GPU audits",
)
def idle_command(context: Context, workload: Workload) -> Iterator[Violation]:
    """Not while suspended or at 0 replicas: then nothing is held."""
    if workload.suspended.is_known and workload.suspended.value:
        return
    for group in workload.pod_groups:
        if group.pods.is_known and group.pods.value == 0:
            continue
        for container in group.containers:
            if container.init or not container.gpu_resources:
                continue
            waiting = waits_for_ever(container, context.thresholds.idle_sleep_seconds)
            if waiting is None:
                continue
            resource = container.gpu_resources[0]
            amount = container.gpus(resource)
            asked = amount.value.text if amount.is_known else "some"
            yield Violation(
                where=f"container {container.name} ({container.place})",
                found=f"holds {asked} x {resource} and runs `{waiting}`",
                limit="a GPU is held only by something that computes",
                alternative="run the work itself; for a shell, ask for one share and set "
                "replicas: 0 when nobody uses it",
                money=_held(context, workload, group),
                evidence={"resource": resource, "command": waiting},
            )


def _held(context: Context, workload: Workload, group: PodGroup) -> Money | None:
    """The cost of what the group's pods hold, as far as a pool is known."""
    for resource, amount in gpu_requests(context, group):
        pools = (
            offering(candidates(context.fleet, group, context.catalogue), resource)
            if context.fleet
            else []
        )
        if not pools:
            if resource != GPU:
                continue
            return waste(workload, group.pods, Fraction(amount), None, "no pool is known")
        pool = min(pools, key=lambda p: (gpu_hour(p) is None, gpu_hour(p) or 0, p.name))
        share, price = pool.share(resource), gpu_hour(pool)
        assert share is not None
        part = amount * share_part(pool, share, context.catalogue)
        return waste(workload, group.pods, part, price, priced(pool))
    return None


@rule(
    "gpu-job-without-deadline",
    "A GPU job that nothing ends when it hangs.",
    subject=Workload,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.MANDATORY,
    formula="waste = pods x GPUs x GPU-hour for each hour of overrun",
    source="Kubernetes Job `activeDeadlineSeconds`, Kueue maximum execution time",
)
def without_deadline(context: Context, workload: Workload) -> Iterator[Violation]:
    """Kinds with a deadline field of their own; Kueue's label counts too."""
    if not workload.runs_to_completion or not workload.deadline_seconds.is_absent:
        return
    if not workload.uses_gpus or "kueue.x-k8s.io/max-exec-time-seconds" in workload.labels:
        return
    group = next(g for g in workload.pod_groups if g.gpu_resources)
    field = workload.deadline_seconds.place
    yield Violation(
        where=field,
        found="no deadline is set",
        limit="a job that hangs keeps its GPUs until somebody looks",
        alternative=f"set {field} to about twice the expected run",
        money=_held(context, workload, group),
    )

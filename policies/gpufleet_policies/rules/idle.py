"""Containers that hold GPUs and do not compute."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from gpufleet.cluster import Container, PodGroup, WorkloadFacts
from gpufleet.findings import Finding
from gpufleet.findings.money import Money
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.waiting import goes_on, last_statement, leaves_it, waits_for_ever
from gpufleet_policies.rules.written import written_rule

_LAUNCHES = re.compile(r"\b(?:mpirun|mpiexec|orterun|horovodrun|deepspeed|pdsh)\b")
"""Programs that start processes on other nodes, over ssh."""

_SAMPLE_IMAGE = re.compile(
    r"(?:cuda-sample|vectoradd|vector-add|nbody|gpu[-_]burn)[^/]*$", re.IGNORECASE
)
_RAY, _BLOCKS = "ray start without --block", re.compile(r"\s(?:--block|\"?\$)")
_TESTS = frozenset(names("test program of GPUs"))
_LOOPED = re.compile(
    rf"\b(?:while|until|for)\b.*?(?<![\w-])({'|'.join(_TESTS)})(?![\w-])", re.DOTALL
)
"""A test that a shell starts again and again."""


@written_rule("gpu-idle-command")
def idle_command(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Not while suspended or at 0 replicas: then nothing is held."""
    if workload.suspended.found:
        return
    for group in workload.pod_groups:
        if group.pods.found == 0:
            continue
        for container in group.containers:
            if container.init or not container.gpu_resources:
                continue
            waiting = waits_for_ever(container, context.thresholds.idle_sleep_seconds)
            if waiting is None or _is_started_by_others(workload, group.name, waiting):
                continue
            resource = container.gpu_resources[0]
            amount = container.gpus(resource)
            asked = amount.value.text if amount.is_known else "some"
            yield idle_command.say(
                container.where,
                asked=asked,
                source=container.source(resource),
                waiting=waiting,
                resource=resource,
                alternative=idle_command.instead(),
                money=_while_it_waits(held(context, workload, group), group, waiting),
            )


def _while_it_waits(money: Money | None, group: PodGroup, waiting: str) -> Money | None:
    """Pods that are not started again waste no month with a sleep of hours."""
    again = group.restarts.is_absent or group.restarts.found == "Always"
    if money is None or again or not re.match(r"sleep \d", waiting):
        return money
    return replace(money, all_month=False)


def _is_started_by_others(workload: WorkloadFacts, group: str, waiting: str) -> bool:
    """Workers of MPI: a launcher starts the work in them, through sshd or `kubectl exec`."""
    if workload.locator.kind == "MPIJob":
        return group == "Worker"
    others = (c.words for g in workload.pod_groups if g.name != group for c in g.containers)
    return waiting == "sshd -D" and any(
        words.is_unknown or (words.is_known and _LAUNCHES.search(" ".join(words.value)))
        for words in others
    )


@written_rule("gpu-oneshot-in-deployment")
def oneshot(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """`nvidia-smi` alone, CUDA's samples, tests of load, a shell that ends with `&`, `ray start`
    without `--block`: in CrashLoopBackOff, or in a loop, the pod keeps its GPU."""
    kind = workload.locator.kind
    if workload.runs_to_completion:
        return
    for group, container in workload.gpu_containers:
        if container.init or group not in workload.running_groups():
            continue
        if kind == "Pod" and not group.restarts.is_absent and group.restarts.found != "Always":
            continue
        test = ends_at_once(container)
        if test is None or (test == _RAY and workload.api_group == "ray.io"):
            continue  # KubeRay adds --block
        yield oneshot.say(
            container.where,
            test=test,
            kind=kind,
            alternative="write `restartPolicy: Never`" if kind == "Pod" else oneshot.instead(),
            money=held(context, workload, group),
        )


_SHELL_IMAGE = re.compile(
    r"^(?:(?:docker\.io/)?(?:pytorch/pytorch|nvidia/cuda|tensorflow/tensorflow)|"
    r"nvcr\.io/nvidia/(?:cuda|pytorch|tensorflow|jax))(?:$|[:@](?!.*jupyter))"
)
"""Images whose own command is a shell (CMD of their Dockerfiles): without a terminal it ends."""


def ends_at_once(container: Container) -> str | None:
    """The test a container runs and that ends by itself, or None."""
    words = container.words
    if words.is_absent:
        if not container.interactive and _SHELL_IMAGE.match(container.image.found or ""):
            return f"the shell of {container.image.found}"
        found = _SAMPLE_IMAGE.search(container.image.found or "")
        return f"image {container.image.found}" if found else None
    if not words.is_known or not words.value:
        return None
    script = last_statement(words.value)
    if leaves_it(words.value):
        return "a shell that leaves its program in the background"
    program, *rest = script.split() or [""]
    name = program.rsplit("/", 1)[-1]
    if name == "ray" and rest[:1] == ["start"] and not _BLOCKS.search(script):
        return _RAY
    if name == "nvidia-smi" and not goes_on(rest):
        return "nvidia-smi"
    if name.lower() in _TESTS or (name == "nbody" and "-benchmark" in rest):
        return name
    looped = _LOOPED.search(" ".join(words.value).lower())
    return looped[1] if looped else None


_NOTEBOOK_ACTIVITY = "notebooks.kubeflow.org/last-activity"
"""Written by Kubeflow's culler as long as it watches a notebook."""

_STOPPED = "kubeflow-resource-stopped"
"""Annotation that Kubeflow writes when a user, or its culler, stops a notebook."""

_OPEN_DATA_HUB = "notebooks.opendatahub.io/"
"""Prefix of annotations of Open Data Hub and OpenShift AI, whose dashboard sets a culler for the
whole cluster: nothing in a notebook tells of it."""

_DAY_SECONDS = 86_400
"""A culler that waits as long lets a server run over the night (Zero to JupyterHub: one hour)."""

_UNUSED_PART = Fraction(7, 10)
"""Part of its time in which a notebook's GPU computes nothing: assumption."""


@written_rule("gpu-notebook-without-culling")
def without_culling(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Kubeflow notebooks, and workloads of mode `interactive`; mandatory outside production only.

    A culler is recognised by `gpufleet.dev/culled-after-seconds` or by Kubeflow's annotation; a
    culler that waits a day or longer does not count.
    """
    mode = workload.intent.mode
    is_notebook = workload.locator.kind == "Notebook" and workload.api_group == "kubeflow.org"
    if mode.is_known:
        is_notebook = mode.value == "interactive"
    if mode.is_unknown or not is_notebook or workload.runs_to_completion:
        return
    culled = workload.intent.culled_after
    if culled.is_unknown or (culled.is_known and culled.value < _DAY_SECONDS):
        return
    ends = (
        f"it is stopped only after {culled.value // 3600} h"
        if culled.is_known
        else "nothing ends it"
    )
    if workload.may_say(_NOTEBOOK_ACTIVITY, _STOPPED):
        return
    if any(key.startswith(_OPEN_DATA_HUB) for key in workload.annotations):
        return
    holders = dict.fromkeys(g.place for g, _ in workload.gpu_containers)
    for group in workload.running_groups():
        if group.place not in holders or not group.deadline_seconds.is_absent:
            continue
        yield without_culling.say(
            group.place,
            workload=workload,
            ends=ends,
            mode=mode,
            alternative="write an hour as the culler's timeout"
            if culled.is_known
            else "enable the culler and state it with "
            'gpufleet.dev/culled-after-seconds: "3600", or set activeDeadlineSeconds',
            certain=context.is_nonproduction(workload),
            money=held(context, workload, group, _UNUSED_PART),
        )
        if culled.is_known:
            return  # its timeout is one, whatever the profiles

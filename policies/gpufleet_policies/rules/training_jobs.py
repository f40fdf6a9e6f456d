"""Training jobs whose pods do not come together: names, ranks, processes."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet_policies.facts import WorkloadFacts
from gpufleet_policies.facts.workload import GPU
from gpufleet_policies.rules.context import RuleContext
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.rule import Level, Violation, rule

_CONTAINER = {
    "PyTorchJob": "pytorch",
    "TFJob": "tensorflow",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
}
"""Kind -> the name by which its controller finds the container to set up."""


@rule(
    "training-container-name",
    "A training job without the container that its controller looks for.",
    subject=WorkloadFacts,
    dev=Level.ADVISORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    source="kubeflow/trainer#1563 and its validation (there is no container named pytorch); public "
    "file TorchedHat/pytorch-dist-bench k8s/pytorchjob.yaml",
    without_gpus=True,
)
def container_name(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """Kinds of kubeflow.org/v1, each with a name of its own."""
    del context
    name = _CONTAINER.get(workload.locator.kind)
    if name is None or workload.api_group != "kubeflow.org":
        return
    for group in workload.pod_groups:
        names = [one.name for one in group.containers if not one.init]
        if not group.containers_known or not names or name in names or "?" in names:
            continue
        yield Violation(
            where=f"group {group.name} ({group.place}.containers)",
            found=f"has no container called {name}, only {', '.join(names)}",
            limit="the training operator refuses the job, or sets no rendezvous up",
            alternative=f"write `name: {name}`",
            evidence={"names": names},
        )


@rule(
    "job-fewer-pods-than-ranks",
    "A Job with fewer pods than its program waits for.",
    subject=WorkloadFacts,
    dev=Level.ADVISORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    formula="waste = pods x GPUs x GPU-hour for each hour it waits",
    source="PyTorch, init_process_group: all ranks of WORLD_SIZE must join; public file "
    "shivangraval50/distributed-ml-training kubernetes/training-job.yaml",
)
def fewer_pods(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """WORLD_SIZE against the pods of a Job that run at a time, each with a rank for each GPU."""
    if workload.locator.kind != "Job" or workload.api_group != "batch":
        return
    for group, container in workload.gpu_containers:
        ranks = container.variables.get("WORLD_SIZE", "")
        asked = group.pod_gpus(GPU)
        if not ranks.isdigit() or not asked.is_known or not group.pods.is_known:
            continue
        most = group.pods.value * max(asked.value, 1)
        if container.init or int(ranks) <= most or len(ranks) > 6:
            continue
        yield Violation(
            where=f"container {container.name} ({container.place}.env)",
            found=f"waits for {ranks} ranks, and {group.pods.value} pod(s) with {asked.value} "
            "GPU(s) run at a time",
            limit="no more than parallelism and completions run at a time: the ranks never meet",
            alternative=f"write `completions: {ranks}`, `parallelism: {ranks}` and "
            "`completionMode: Indexed`",
            money=held(context, workload, group),
            evidence={"ranks": int(ranks), "pods": group.pods.value},
        )


_NUMBER = ("-np", "--np")


@rule(
    "mpi-fewer-processes-than-gpus",
    "An MPI job that starts fewer processes than its workers have GPUs.",
    subject=WorkloadFacts,
    dev=Level.ADVISORY,
    prod=Level.ADVISORY,
    strict=Level.MANDATORY,
    formula="waste = pods x (GPUs - processes) x GPU-hour for each hour it runs",
    source="the command line itself; public file KeitaW/p5-nccl-test-2024-07-19 nccl-test.yaml",
)
def fewer_processes(context: RuleContext, workload: WorkloadFacts) -> Iterator[Violation]:
    """`mpirun -np` of the launcher against the GPUs of all workers; `-g` of nccl-tests counts."""
    if workload.locator.kind != "MPIJob":
        return
    holders = [g for g in workload.running_groups() if g.gpu_resources == (GPU,)]
    if len(holders) != 1 or holders[0].name != "Worker":
        return
    workers = holders[0]
    asked = workers.pod_gpus(GPU)
    if not asked.is_known or not workers.pods.is_known:
        return
    total = asked.value * workers.pods.value
    for group in workload.pod_groups:
        for container in group.containers:
            started = _processes(container.words.found or ())
            if group.name == "Launcher" and started is not None and started < total:
                yield Violation(
                    where=f"container {container.name} ({container.place})",
                    found=f"starts {started} processes of a GPU each, and the workers hold {total}",
                    limit=f"{total - started} GPUs stay idle",
                    alternative=f"write -np {total}, or fewer workers",
                    money=held(context, workload, workers, Fraction(total - started, total)),
                    evidence={"asked": total, "opened": started},
                )


def _processes(words: tuple[str, ...]) -> int | None:
    parts = [part for word in words for part in word.split()]
    if not any(part.rsplit("/", 1)[-1] in ("mpirun", "mpiexec") for part in parts):
        return None
    if any("$" in part for part in parts):
        return None
    found = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part in _NUMBER]
    each = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part == "-g"]
    numbers = [int(one) for one in (*found, *each) if one.isdigit() and len(one) < 7]
    if len(found) != 1 or len(numbers) != len(found) + len(each) or len(each) > 1:
        return None
    return numbers[0] * (numbers[1] if each else 1)

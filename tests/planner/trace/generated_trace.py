"""Traces with a known optimum: full nodes are divided into tasks, which then arrive in any order.

All tasks together fit, because the nodes were divided into them: the best allocation is that of all
tasks. Requests are drawn from few shapes, as in real traces.
"""

import random

from gpufleet_planner.trace.read import TaskShape, Trace, TraceNode, TraceTask

NODES = (
    # cpu, memory, GPUs, model, how many of a hundred
    (96_000, 786_432, 8, "A", 30),
    (128_000, 786_432, 8, "B", 25),
    (64_000, 262_144, 2, "C", 20),
    (96_000, 393_216, 4, "A", 15),
    (96_000, 524_288, 0, "", 10),
)
PARTS = ((1000,), (500, 500), (250, 250, 500), (300, 700), (200, 200, 600), (100, 400, 500),
         (800, 200), (150, 350, 500), (330, 330, 340), (900, 100), (450, 550))  # fmt: skip


def generated_trace(
    seed: int, nodes: int, *, constrained: float = 0.3, cpu_only: float = 0.5
) -> Trace:
    """A trace whose tasks all have room. `constrained`: part of the tasks that name GPU models;
    `cpu_only`: part of the CPU left over that tasks without a GPU request."""
    chance = random.Random(seed)
    found: list[TraceNode] = []
    shapes: list[TaskShape] = []
    for i in range(nodes):
        cpu, memory, gpus, model, _ = chance.choices(NODES, [n[-1] for n in NODES])[0]
        found.append(TraceNode(f"node-{i}", cpu, memory, gpus, model))
        shapes += _divide(chance, found[-1], constrained, cpu_only)
    chance.shuffle(shapes)
    tasks = tuple(TraceTask(f"task-{i}", s, i, None) for i, s in enumerate(shapes))
    return Trace(tuple(found), tasks)


def _divide(
    chance: random.Random, node: TraceNode, constrained: float, cpu_only: float
) -> list[TaskShape]:
    requests: list[tuple[int, int]] = []
    left = node.gpus
    while left:
        several = chance.choice((1, 1, 1, 1, 2, 4, 8))
        if several > 1 and several <= left:
            requests.append((several, 1000))
            left -= several
        else:
            requests += [(1, part) for part in chance.choice(PARTS)]
            left -= 1
    cpu, memory = node.cpu_milli, node.memory_mib
    found: list[TaskShape] = []
    for gpus, milli in requests:
        part = gpus * milli / (1000 * node.gpus)
        # At most the part of the node that its GPUs are, mostly less, in usual sizes.
        wanted = chance.choice((1.0, 1.0, 0.75, 0.5, 0.25)) * part * node.cpu_milli
        own_cpu = max(1000, int(wanted) // 1000 * 1000) if wanted >= 1000 else 500
        own_memory = max(
            1024, int(chance.choice((1.0, 0.5, 0.25)) * part * node.memory_mib) // 4096 * 4096
        )
        own_cpu, own_memory = min(own_cpu, cpu), min(own_memory, memory)
        cpu, memory = cpu - own_cpu, memory - own_memory
        models = frozenset({node.model}) if chance.random() < constrained else frozenset[str]()
        found.append(TaskShape(own_cpu, own_memory, gpus, milli, models))
    spare = int(cpu * (cpu_only if node.gpus else 1.0))
    while spare >= 1000:
        own = min(spare // 1000 * 1000, chance.choice((1000, 2000, 4000, 8000, 16000)))
        own_memory = min(memory, own * 4)
        found.append(TaskShape(own, own_memory, 0, 0, frozenset()))
        spare, memory = spare - own, memory - own_memory
    return found


def overfull(trace: Trace, load: float, seed: int) -> Trace:
    """The trace with more of its own tasks, drawn at random, until they request this multiple of
    the cluster's GPUs: the authors of FGD fill theirs so."""
    chance = random.Random(seed)
    tasks = list(trace.tasks)
    wanted = load * 1000 * sum(node.gpus for node in trace.nodes)
    requested = sum(task.shape.gpu_milli for task in tasks)
    while requested < wanted:
        shape = chance.choice(trace.tasks).shape
        requested += shape.gpu_milli
        tasks.append(TraceTask(f"more-{len(tasks)}", shape, len(tasks), None))
    return Trace(trace.nodes, tuple(tasks))

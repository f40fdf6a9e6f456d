"""Checks the placements of a trace with other code than places them: it replays them."""

from gpufleet_planner.trace.place import TraceRun
from gpufleet_planner.trace.read import Trace


def broken(trace: Trace, run: TraceRun, *, departures: bool) -> list[str]:
    """Errors; empty for correct placements."""
    found: list[str] = []
    if [p.task for p in run.placements] != list(range(len(trace.tasks))):
        return ["not every task has one answer"]
    # Time; departures before arrivals; task, 1: it leaves. One that leaves when it
    # arrives has left when the next one comes.
    events: list[tuple[int, int, int, int]] = []
    for number, task in enumerate(trace.tasks):
        events.append((task.created, 1, number, 0))
        if departures and task.deleted is not None:
            later = task.deleted > task.created
            events.append((max(task.deleted, task.created), 0 if later else 1, number, 1))
    cpu = [0] * len(trace.nodes)
    memory = [0] * len(trace.nodes)
    gpu = [[0] * node.gpus for node in trace.nodes]
    for _, _, number, leaves in sorted(events):
        task, placed = trace.tasks[number], run.placements[number]
        if placed.node < 0:
            if placed.cause is None:
                found.append(f"{task.name}: no cause")
            continue
        node, shape = trace.nodes[placed.node], task.shape
        sign = -1 if leaves else 1
        cpu[placed.node] += sign * shape.cpu_milli
        memory[placed.node] += sign * shape.memory_mib
        if len(set(placed.gpus)) != shape.gpus:
            found.append(f"{task.name}: GPUs {placed.gpus} for {shape.gpus}")
        if shape.gpus and shape.models and node.model not in shape.models:
            found.append(f"{task.name}: {node.model}")
        for index in placed.gpus:
            gpu[placed.node][index] += sign * shape.milli
            if gpu[placed.node][index] > 1000:
                found.append(f"{node.name} GPU {index}: {gpu[placed.node][index]} milli-GPUs")
        if cpu[placed.node] > node.cpu_milli or memory[placed.node] > node.memory_mib:
            found.append(f"{node.name}: {cpu[placed.node]} milli-CPUs, {memory[placed.node]} MiB")
    return found

"""The tables of `gpufleet sandbox status`."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from gpufleet_sandbox.progress import duration
from gpufleet_sandbox.report import WIDTH_WITHOUT_TERMINAL
from gpufleet_sandbox.status import PodStatus, Status

_WAITING_SHOWN = 10


def print_status(status: Status, console: Console | None = None) -> None:
    """Print processes, nodes and pods for people, on standard output."""
    out = console or Console()
    if console is None and not out.is_terminal:
        out = Console(width=WIDTH_WITHOUT_TERMINAL)
    some = any(process.running for process in status.processes)
    state = "[red]running in part[/red]" if some else "[red]not running[/red]"
    state = "[green]running[/green]" if status.running else state
    out.print(f"[bold]{status.directory}[/bold]: {state}" + f" {status.server or ''}")
    if status.problem:
        out.print(status.problem, style="red", markup=False)
    if status.processes:
        out.print(_processes(status))
    if status.nodes:
        out.print(_nodes(status))
    waiting = [pod for pod in status.pods if pod.phase == "Pending"]
    for pod in waiting[:_WAITING_SHOWN]:
        reason = pod.reason or "not yet looked at"
        out.print(f"waiting: {pod.namespace}/{pod.name}: {reason}", markup=False)
    if len(waiting) > _WAITING_SHOWN:
        out.print(f"… and {len(waiting) - _WAITING_SHOWN} more pods wait")


def _processes(status: Status) -> Table:
    table = Table("process", "state", "pid", "ports on 127.0.0.1", "up for", box=None)
    for process in status.processes:
        table.add_row(
            process.name,
            "[green]running[/green]" if process.running else f"[red]dead[/red], {process.log}",
            str(process.pid or ""),
            ", ".join(str(port) for port in process.ports.values()),
            "" if process.uptime_seconds is None else duration(process.uptime_seconds),
        )
    return table


def _nodes(status: Status) -> Table:
    table = Table("node", "state", "GPU", "advertises", "pods", box=None)
    for node in status.nodes:
        advertised = ", ".join(f"{name}: {amount}" for name, amount in node.advertised.items())
        table.add_row(
            node.name,
            "Ready" if node.ready else "[red]not ready[/red]",
            node.product or "",
            advertised,
            _landed([pod for pod in status.pods if pod.node == node.name]),
        )
    return table


def _landed(pods: list[PodStatus]) -> str:
    """`12 Running, 1 Succeeded`."""
    return ", ".join(f"{count} {phase}" for phase, count in Counter(p.phase for p in pods).items())

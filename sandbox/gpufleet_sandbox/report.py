"""The closing table of `gpufleet sandbox up`: what runs where, what it costs, how to go on."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpufleet_sandbox.system_node import SELECT_OTHERS

if TYPE_CHECKING:
    from gpufleet_sandbox.sandbox import Sandbox

PRICE_ANNOTATION = "gpufleet.dev/usd-per-hour"
"""Annotation of a node: its price as a decimal number of US dollars per hour."""
POOL_LABEL = "gpufleet.dev/pool"
MIG_LABEL = "nvidia.com/mig.config"
WIDTH_WITHOUT_TERMINAL = 120
"""Columns when the output is not a terminal, where rich would assume 80 and fold the names."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One node."""

    name: str
    pool: str
    ready: bool
    advertised: Mapping[str, str]
    """Allocatable extended resources, such as `nvidia.com/gpu: 4`."""
    usd_per_hour: Decimal | None
    pods: tuple[str, ...]
    """Pods that landed here, replicas of one owner counted together: `chat x 4`."""
    layout_failed: str | None = None
    """The MIG layout that mig-manager could not apply."""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """One group of pods that no node takes."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SandboxReport:
    """Figures of the closing table."""

    nodes: tuple[ReportRow, ...]
    waiting: tuple[WaitingPod, ...]

    @property
    def usd_per_hour(self) -> Decimal:
        """Sum over the nodes that have a price."""
        return sum((node.usd_per_hour or Decimal(0) for node in self.nodes), Decimal(0))

    @property
    def without_price(self) -> int:
        """Number of nodes without a price; the sum omits them."""
        return sum(node.usd_per_hour is None for node in self.nodes)


def build(nodes: Iterable[Any], pods: Iterable[Any]) -> SandboxReport:
    """The report on the API's node and pod objects (as the `kubernetes` client gives them).

    System namespaces are left out; a pod counts under the workload that made it.
    """
    placed: dict[str, dict[str, int]] = {}
    waiting: dict[tuple[str, str], int] = {}
    for pod in pods:
        if pod.metadata.namespace.startswith("kube-"):
            continue
        workload = _workload(pod)
        if pod.spec.node_name:
            phase = "" if pod.status.phase == "Running" else f" ({pod.status.phase.lower()})"
            counts = placed.setdefault(pod.spec.node_name, {})
            counts[workload + phase] = counts.get(workload + phase, 0) + 1
        else:
            key = (workload, _why(pod))
            waiting[key] = waiting.get(key, 0) + 1
    rows = [_node(node, placed.get(node.metadata.name, {})) for node in nodes]
    return SandboxReport(
        nodes=tuple(sorted(rows, key=lambda row: (row.pool, row.name))),
        waiting=tuple(
            WaitingPod(_counted(name, count), why) for (name, why), count in sorted(waiting.items())
        ),
    )


def read(kubeconfig: str) -> SandboxReport:
    """The report on the cluster that `kubeconfig` names."""
    from kubernetes import client, config

    with config.new_client_from_config(kubeconfig) as connection:
        api = client.CoreV1Api(connection)
        return build(
            api.list_node(label_selector=SELECT_OTHERS).items,
            api.list_pod_for_all_namespaces().items,
        )


def print_report(sandbox: "Sandbox", console: Console | None = None) -> SandboxReport:
    """Print nodes, advertised resources, pods, $ per hour and how to go on; returns the report."""
    report = read(str(sandbox.kubeconfig))
    if console is None:
        console = Console()
        if not console.is_terminal:
            console = Console(width=WIDTH_WITHOUT_TERMINAL)
    console.print(_table(report))
    for pod in report.waiting:
        # The scheduler's own words may hold brackets, which rich would take for markup.
        console.print(f"[yellow]waiting[/]  {escape(f'{pod.name}: {pod.reason}')}", highlight=False)
    for node in report.nodes:
        if node.layout_failed is not None:
            console.print(
                f"[red]failed[/]  {node.name}: MIG layout {escape(node.layout_failed)} is not "
                f"applied; `kubectl describe node {node.name}` says why",
                highlight=False,
                soft_wrap=True,
            )
    environment = shlex.quote(str(sandbox.layout.environment))
    console.print(
        "\nHow to go on:\n"
        f"  . {environment}    puts pulumi and this cluster into your shell; then:\n"
        "  pulumi preview -s sandbox-dev --policy-pack policies\n"
        "  gpufleet explain stacks/Pulumi.sandbox-dev.yaml    shows how each GPU is cut\n"
        "  gpufleet sandbox status    processes, nodes and pods\n"
        "  make down    stops everything",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    return report


def _table(report: SandboxReport) -> Table:
    table = Table(title="The fleet", title_justify="left", show_footer=True)
    left_out = f", {report.without_price} without a price" if report.without_price else ""
    table.add_column("pool", footer=f"{len(report.nodes)} nodes{left_out}")
    table.add_column("node")
    table.add_column("advertises")
    table.add_column("pods")
    table.add_column("$ per hour", justify="right", footer=_money(report.usd_per_hour))
    for node in report.nodes:
        table.add_row(
            node.pool,
            node.name if node.ready else f"{node.name} [red](not ready)[/]",
            "\n".join(f"{name}: {amount}" for name, amount in sorted(node.advertised.items())),
            "\n".join(node.pods),
            "" if node.usd_per_hour is None else _money(node.usd_per_hour),
        )
    return table


def _money(usd: Decimal) -> str:
    return f"{usd:,.2f}"


def _node(node: Any, pods: Mapping[str, int]) -> ReportRow:
    conditions = node.status.conditions or []
    labels = node.metadata.labels or {}
    failed = labels.get(f"{MIG_LABEL}.state") == "failed"
    return ReportRow(
        name=node.metadata.name,
        pool=labels.get(POOL_LABEL, ""),
        ready=any(c.type == "Ready" and c.status == "True" for c in conditions),
        advertised={
            name: str(amount)
            for name, amount in (node.status.allocatable or {}).items()
            if "/" in name
        },
        usd_per_hour=_price((node.metadata.annotations or {}).get(PRICE_ANNOTATION)),
        pods=tuple(_counted(name, count) for name, count in sorted(pods.items())),
        layout_failed=labels.get(MIG_LABEL, "") if failed else None,
    )


def _price(text: str | None) -> Decimal | None:
    """A price as annotated; anything that is not a finite number counts as no price."""
    try:
        price = Decimal(text) if text is not None else None
    except InvalidOperation:
        return None
    return price if price is not None and price.is_finite() else None


def _workload(pod: Any) -> str:
    """Name of what made the pod; a ReplicaSet carries its Deployment's name and a hash."""
    owner = next(iter(pod.metadata.owner_references or []), None)
    if owner is None:
        return pod.metadata.name
    made_by_deployment = "pod-template-hash" in (pod.metadata.labels or {})
    if owner.kind == "ReplicaSet" and made_by_deployment:
        return owner.name.rsplit("-", 1)[0]
    return owner.name


def _why(pod: Any) -> str:
    for condition in pod.status.conditions or []:
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.message or condition.reason or "not scheduled"
    return "not looked at by the scheduler yet"


def _counted(name: str, count: int) -> str:
    return name if count == 1 else f"{name} x {count}"

"""Tables as text: pools, their resources, and their cost."""

from collections.abc import Iterator
from decimal import Decimal

from rich.markup import escape
from rich.table import Table

from gpufleet.catalogue import MICRO_USD
from gpufleet.cli.output import table_console
from gpufleet.fleet import Fleet, Pool, Unbounded
from gpufleet.fleet.model import Money
from gpufleet.fleet.team_quotas import team_quotas
from gpufleet.partition.dra import DraCut
from gpufleet.partition.neuron import CORE
from gpufleet.partition.partition import Partition
from gpufleet.partition.vgpu import VgpuCut
from gpufleet.spec.sharing import VgpuScheduler


def usd(bound: Money) -> str:
    """A bound per hour as text: `12.34`, or `unknown` without a price."""
    if isinstance(bound, Unbounded):
        return "unknown"
    return f"{Decimal(bound) / MICRO_USD:,.2f}"


def sharing_line(pool: Pool) -> str:
    """How the pool's GPUs are shared, in a few words."""
    partition = pool.partition
    if partition.mode == "exclusive":
        units = "single cores" if CORE in pool.advertised else "whole devices"
        return "whole GPUs" if pool.gpu.vendor == "nvidia" else units
    if partition.mode == "mig":
        slices = ", ".join(f"{n} x {profile}" for profile, n in partition.slices.items())
        shared = f", each shared by {partition.replicas}" if partition.replicas > 1 else ""
        return f"MIG {partition.strategy}: {slices}{shared}"
    if partition.vgpu is not None:
        made = partition.vgpu
        each = f", {made.per_gpu} per GPU" if made.per_gpu else ""
        return f"vGPU {made.type.name}{each}{_turns(partition)}{_promise(made)}"
    if partition.dra is not None:
        return dra_line(partition.dra)
    word = "time-sliced" if partition.mode == "timeSlicing" else "MPS"
    return f"{word}, {partition.replicas} per GPU"


def _turns(partition: Partition) -> str:
    return f", time-sliced by {partition.replicas}" if partition.replicas > 1 else ""


def _promise(made: VgpuCut) -> str:
    """The share that the host's scheduler guarantees each vGPU."""
    if made.scheduler is None:
        return ""
    words = {
        VgpuScheduler.BEST_EFFORT: "best effort: no part of the GPU's time is promised",
        VgpuScheduler.EQUAL_SHARE: "equal share: at least {} of the GPU's time",
        VgpuScheduler.FIXED_SHARE: "fixed share: {} of the GPU's time",
    }
    return "; " + words[made.scheduler].format(made.promised_time or "an unknown part")


def dra_line(made: DraCut) -> str:
    """Devices that claims can request, in a few words."""
    how = "MIG devices made on demand" if made.on_demand else "whole GPUs"
    if made.devices == "mig" and not made.on_demand:
        how = ", ".join(f"{o.per_node} x {o.profile or 'whole GPU'}" for o in made.offers)
    shared = ""
    if made.clients > 1:
        word = {"timeSlicing": "time-sliced", "mps": "MPS"}[made.sharing.mode.value]
        shared = f", {word}, {made.clients} pods per claim"
    return f"claims (DRA): {how}{shared}"


def quota_lines(fleet: Fleet, pool: str = "") -> Iterator[str]:
    """Quota of each team, of one pool or of all, and the sum of their cohort; none if no queues."""
    if (queues := fleet.spec.queues) is None:
        return
    totals: dict[tuple[str, str, str], int] = {}
    for one in team_quotas(fleet, queues):
        if pool in ("", one.pool.name):
            yield f"  quota of {one.team.name} in {one.pool.name}: {one.in_words}"
            key = (one.team.cohort or queues.cohort, one.pool.name, one.resource)
            totals[key] = totals.get(key, 0) + one.units
    for (cohort, name, resource), units in totals.items():
        yield f"  quota of cohort {cohort} in {name}: {units:,} {resource}"


def print_fleet(fleet: Fleet) -> None:
    """One row per pool, and the fleet's spend under it."""
    console = table_console()
    table = Table(title=f"{fleet.spec.cluster.name} on {fleet.spec.platform.value}")
    table.add_column("pool", overflow="fold")
    table.add_column("machine", overflow="fold")
    table.add_column("nodes", justify="right")
    table.add_column("each node advertises", no_wrap=True)
    table.add_column("USD/h", justify="right")
    for pool in fleet.pools:
        price = pool.hourly_usd
        machine = pool.machines[0].name
        if len(pool.machines) > 1:
            machine += f" (+{len(pool.machines) - 1})"
        table.add_row(
            escape(pool.name),
            f"{escape(machine)}\n{pool.gpus_per_node} x {pool.gpu.key}",
            f"{pool.nodes.minimum} to {pool.nodes.maximum}",
            "\n".join(f"{count} {name}" for name, count in pool.advertised.items())
            or "ResourceSlices",
            "unknown"
            if price is None
            else f"{price:,.2f} a node\n{usd(pool.spend.minimum)} to {usd(pool.spend.maximum)}",
            end_section=True,
        )
    console.print(table)
    for line in quota_lines(fleet):
        console.print(escape(line), highlight=False)
    bounds = (fleet.spend.minimum, fleet.spend.expected, fleet.spend.maximum)
    console.print(
        "Spend: unknown"
        if all(isinstance(bound, Unbounded) for bound in bounds)
        else f"Spend: at least {usd(fleet.spend.minimum)}, expected {usd(fleet.spend.expected)}, "
        f"at most {usd(fleet.spend.maximum)} USD/h",
        highlight=False,
    )
    if isinstance(fleet.spend.maximum, Unbounded):
        for cause in fleet.spend.maximum.causes:
            console.print(f"  unknown: {escape(cause)}", highlight=False)
        console.print(
            "  write it under `capacity`, `onPrem: {usdPerGpuHour: ...}` or `capacityBlock: "
            "{usdPerHour: ...}`, or give --prices FILE (docs/catalogue.md)",
            highlight=False,
        )
    if any(len(pool.machines) > 1 for pool in fleet.pools):
        console.print(
            "(+n): machine types that carry the same GPU too, and that the pool may take; the "
            "upper bound is that of the dearest. `instanceTypes` names the ones to take.",
            highlight=False,
        )

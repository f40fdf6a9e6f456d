"""Facts of one pool, for `gpufleet explain` and its page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from gpufleet.cli.tables import sharing_line, usd
from gpufleet.contract.contract_fact import Term
from gpufleet.cost.idle_power import idle_month, physical_gpus
from gpufleet.fleet import Pool, Unbounded
from gpufleet.fleet.balance import host_share
from gpufleet.fleet.neuron import is_neuron
from gpufleet.fleet.price_rules import price_region
from gpufleet.render.pod_request import requested_units
from gpufleet.render.slots import draw_partition
from gpufleet.spec.base import Ownership


@dataclass(frozen=True, slots=True)
class PoolLine:
    """A line about a pool, or a list of lines under one heading."""

    name: str
    text: str = ""
    items: tuple[str, ...] = ()


def pool_lines(
    pool: Pool, terms: Sequence[Term] = (), usd_per_kwh: float | None = None
) -> tuple[PoolLine, ...]:
    """Hardware, owners, contract, sharing, requests and price, in the order of the text."""
    host = _next_to_gpus(pool)
    return (
        PoolLine("machine", _machines(pool)),
        *([PoolLine("each GPU", host)] if host else []),
        PoolLine("nodes", _nodes(pool)),
        PoolLine("sharing", sharing_line(pool)),
        PoolLine("brought by", _brought_by(pool)),
        *(PoolLine(term.part, term.who) for term in terms),
        PoolLine("pods ask for", items=(*_requests(pool), *_claims(pool))),
        PoolLine(
            "and tolerate",
            items=tuple(
                f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
                for taint in pool.work_taints
            ),
        ),
        PoolLine("price", _price(pool)),
        PoolLine("idle power", _idle(pool, usd_per_kwh)),
    )


def pool_title(pool: Pool) -> str:
    """The text after the name: intent and capacity types."""
    return f"{pool.intent.value}, {_buying(pool)}"


def explain_pool(pool: Pool, terms: Sequence[Term] = (), usd_per_kwh: float | None = None) -> str:
    """One pool as text, its GPUs drawn before the price."""
    lines = [click.style(pool.name, bold=True) + f"  {pool_title(pool)}"]
    for fact in pool_lines(pool, terms, usd_per_kwh):
        if fact.name == "price":
            lines += _drawn(pool)
        if fact.text:
            lines.append(f"  {fact.name:<12} {fact.text}")
        else:
            lines += [f"  {fact.name}", *(f"    {item}" for item in fact.items)]
    return "\n".join(lines)


def _drawn(pool: Pool) -> Iterator[str]:
    yield "  GPUs of one node" if pool.gpu.vendor == "nvidia" else "  Devices of one node"
    for line in draw_partition(pool.gpu, pool.partition).splitlines():
        yield f"    {line}" if line else ""
    if pool.partition.mode == "mig":
        yield f"    placement {pool.partition.evidence.value} (docs/partitioning.md)"


def _requests(pool: Pool) -> Iterator[str]:
    for share in pool.partition.shares:
        size = share.memory_bytes
        memory = "" if size is None else f", {size / 2**30:.1f} GiB each"
        claim = share.device_class
        what = share.resource if claim in (None, share.resource) else f"{share.resource} or {claim}"
        yield f"{what}: {requested_units(pool, share)}   ({share.per_node} per node{memory})"


def _price(pool: Pool) -> str:
    price, listed = pool.hourly_usd, price_region(pool)
    if price is None and isinstance(pool.spend.maximum, Unbounded):
        causes = "; ".join(cause.partition(": ")[2] for cause in pool.spend.maximum.causes)
        return f"unknown: {causes}"
    return (
        f"{'unknown' if price is None else f'{price:,.4f} USD/h'} a node"
        f"{'' if listed is None else f' (list of {listed})'}; "
        f"{usd(pool.spend.minimum)} to {usd(pool.spend.maximum)} USD/h for the pool, "
        f"{usd(pool.spend.expected)} expected"
    )


def _idle(pool: Pool, usd_per_kwh: float | None) -> str:
    """Energy of a node that no pod uses, for a month."""
    month = idle_month(pool)
    mode = " in MIG mode" if month.mig else ""
    if month.watts is None:
        return f"not known for {pool.gpu.key}{mode}"
    return (
        f"{physical_gpus(pool)} x {month.watts} W{mode} on a node that no pod uses: "
        f"{month.kwh:,.1f} kWh a month, {month.money(usd_per_kwh)}"
    )


def _next_to_gpus(pool: Pool) -> str:
    """Cores, memory, disks and network of the first machine for each of its GPUs."""
    share = host_share(pool.machines[0])
    return f"has {text} next to it" if (text := share.in_words()) else ""


def _claims(pool: Pool) -> Iterator[str]:
    """Claims by what they need, and the kinds of device that meet each."""
    made = pool.partition.dra
    for need in made.needs if made is not None else ():
        name, count = f"{pool.name}-{need.asked.name}", need.asked.count
        kinds = ", ".join(offer.profile or pool.gpu.key for offer in need.offers)
        if need.choices:
            ways = (f"{w.asked.count} of {' or '.join(w.product_names)}" for w in need.choices)
            yield f"claim {name}: {', else '.join(ways)}"
            continue
        shared = f", for {need.sharing.clients} pods" if need.shared_claims else ""
        yield f"claim {name}: {count} of {kinds}{shared}"


def _nodes(pool: Pool) -> str:
    nodes, managed = pool.nodes, pool.ownership is Ownership.MANAGED
    made = f"provisioned by {pool.provisioner.value}" if managed else "made by others"
    return f"{nodes.minimum} to {nodes.maximum}, {nodes.expected} expected, {made}"


def _brought_by(pool: Pool) -> str:
    parts = {
        "driver": pool.owners.driver,
        "container toolkit": pool.owners.toolkit,
        "device plugin": pool.owners.device_plugin,
    }
    if is_neuron(pool.gpu):
        del parts["container toolkit"]  # none is needed
    said = ", ".join(f"{part}: {owner.value}" for part, owner in parts.items())
    return f"{said} (image {pool.image.key})" if pool.image else said


def _buying(pool: Pool) -> str:
    return "bought as " + ", then ".join(entry.mode for entry in pool.capacity)


def _machines(pool: Pool) -> str:
    names = [machine.name for machine in pool.machines]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    made = pool.partition.vgpu
    device = pool.gpu.key if made is None else f"vGPU {made.type.name} of {pool.gpu.key}"
    return f"{shown}: {pool.gpus_per_node} x {device}"

"""`gpufleet explain`: a compiled fleet for people, with the proof of each MIG layout."""

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime

import click

from gpufleet.catalogue import load
from gpufleet.cli.fleet_pictures import calendar_pictures
from gpufleet.cli.html_page import fleet_page
from gpufleet.cli.moments import as_of_option
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    write_file,
)
from gpufleet.cli.source import compile_source
from gpufleet.cli.tables import sharing_line, usd
from gpufleet.contract.explained import Term, contract_of
from gpufleet.fleet import Fleet, Pool, Unbounded
from gpufleet.fleet.as_dict import pool_as_dict
from gpufleet.fleet.balance import host_share
from gpufleet.fleet.contract_facts import cluster_facts
from gpufleet.fleet.neuron import is_neuron
from gpufleet.fleet.price_rules import price_region
from gpufleet.render.pod_request import requested_units
from gpufleet.render.slots import draw_partition
from gpufleet.render.slots_svg import draw_partition_svg


@click.command()
@click.argument("source", metavar="SPEC")
@click.argument("pool", required=False)
@click.option("--svg", "svg", metavar="FILE", help="Also draw the pool's GPUs into an SVG file.")
@click.option("--html", "html", metavar="FILE", help="Also write a page with pictures.")
@as_of_option
@format_option
def command(
    source: str,
    pool: str | None,
    svg: str | None,
    html: str | None,
    as_of: datetime | None,
    output_format: str,
) -> None:
    """Explain a FleetSpec pool by pool: who installs what, how GPUs are shared, what it costs, why.

    SPEC is a YAML or JSON file, a Pulumi stack file with `gpufleet:fleet`, or `-`. Without POOL,
    all pools are explained.

    \b
        gpufleet explain stacks/Pulumi.sandbox-dev.yaml
        gpufleet explain fleet.yaml notebooks --svg notebooks.svg
        gpufleet explain fleet.yaml --html fleet.html

    The page of --html holds everything in one file: findings, spend, the slots of each pool, and a
    calendar from --as-of on (or from today) where the declaration has dates.
    """
    compiled = compile_source(source, None, as_of)
    fleet = compiled.fleet
    pools = _chosen(fleet, pool) if fleet is not None else ()
    if svg is not None:
        _draw(pools, svg)
    if html is not None and fleet is not None:
        texts = {one.name: explain_pool(one) for one in pools}
        page = fleet_page(fleet, pools, compiled.findings, texts, calendar_pictures(fleet, as_of))
        write_file(html, page)
    if output_format == "json":
        findings = [finding.as_dict() for finding in compiled.findings]
        print_json({"pools": [pool_as_dict(one) for one in pools], "findings": findings})
    else:
        print_findings(compiled.findings)
        terms = {} if fleet is None else _contract(fleet)
        click.echo("\n\n".join(explain_pool(one, terms.get(one.name, ())) for one in pools))
    sys.exit(exit_code(compiled.findings))


def _chosen(fleet: Fleet, name: str | None) -> tuple[Pool, ...]:
    if name is None:
        return fleet.pools
    chosen = tuple(pool for pool in fleet.pools if pool.name == name)
    if not chosen:
        names = ", ".join(pool.name for pool in fleet.pools) or "none that compiles"
        raise UnreadableInputError(f"there is no pool {name!r}; the pools are {names}")
    return chosen


def _draw(pools: tuple[Pool, ...], file: str) -> None:
    if len(pools) != 1:
        names = ", ".join(pool.name for pool in pools) or "none that compiles"
        raise UnreadableInputError(f"--svg draws one pool, name it: {names}")
    picture = draw_partition_svg(pools[0].gpu, pools[0].partition, f"Pool {pools[0].name}")
    write_file(file, picture)


def _contract(fleet: Fleet) -> dict[str, tuple[Term, ...]]:
    """The terms of each pool, by name."""
    spec = fleet.spec
    catalogue = load(spec.catalogue, overlay=spec.catalogue_overlay)
    cluster = cluster_facts(spec, fleet.platform, fleet.pools, catalogue)
    return {pool.name: contract_of(pool, cluster) for pool in cluster.pools}


def explain_pool(pool: Pool, terms: Sequence[Term] = ()) -> str:
    """One pool as text: hardware, owners, contract, sharing with proof, requests, price."""
    partition = pool.partition
    lines = [
        click.style(f"{pool.name}", bold=True) + f"  {pool.intent.value}, {_buying(pool)}",
        f"  machine      {_machines(pool)}",
        *(f"  each GPU     {text}" for text in [_next_to_gpus(pool)] if text),
        f"  nodes        {_nodes(pool)}",
        f"  sharing      {sharing_line(pool)}",
        f"  brought by   {_brought_by(pool)}",
        *(f"  {term.part:<12} {term.who}" for term in terms),
        "  pods ask for",
    ]
    for share in partition.shares:
        size = share.memory_bytes
        memory = "" if size is None else f", {size / 2**30:.1f} GiB each"
        claim = share.device_class
        what = share.resource if claim in (None, share.resource) else f"{share.resource} or {claim}"
        asked = requested_units(pool, share)
        lines.append(f"    {what}: {asked}   ({share.per_node} per node{memory})")
    lines += _claims(pool)
    lines.append("  and tolerate")
    lines += [
        f"    {taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
        for taint in pool.taints
    ]
    lines.append("  GPUs of one node" if pool.gpu.vendor == "nvidia" else "  Devices of one node")
    drawing = draw_partition(pool.gpu, partition)
    lines += [f"    {line}" if line else "" for line in drawing.splitlines()]
    if partition.mode == "mig":
        lines.append(f"    placement {partition.evidence.value} (docs/partitioning.md)")
    lines.append(f"  price        {_price(pool)}")
    return "\n".join(lines)


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


def _next_to_gpus(pool: Pool) -> str:
    """Cores, memory, disks and network of the first machine for each of its GPUs."""
    share = host_share(pool.machines[0])
    return f"has {text} next to it" if (text := share.in_words()) else ""


def _claims(pool: Pool) -> Iterator[str]:
    """Claims by what they need, and the kinds of device that meet each."""
    made = pool.partition.dra
    for need in made.needs if made is not None else ():
        kinds = ", ".join(offer.profile or pool.gpu.key for offer in need.offers)
        if need.choices:
            ways = (f"{one.count} of {' or '.join(one.product_names)}" for one in need.choices)
            yield f"    claim {pool.name}-{need.name}: {', else '.join(ways)}"
            continue
        shared = f", for {need.sharing.clients} pods" if need.shared_claims else ""
        yield f"    claim {pool.name}-{need.name}: {need.count} of {kinds}{shared}"


def _nodes(pool: Pool) -> str:
    nodes = pool.nodes
    return (
        f"{nodes.minimum} to {nodes.maximum}, {nodes.expected} expected, "
        f"provisioned by {pool.provisioner.value}"
    )


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

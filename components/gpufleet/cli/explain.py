"""`gpufleet explain`: a compiled fleet as text, with the proof of each MIG layout."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import click

from gpufleet.cli.moments import as_of_option
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    usd_per_kwh_option,
    write_file,
)
from gpufleet.cli.source import compile_files
from gpufleet.cli.tables import quota_lines, sharing_line, usd
from gpufleet.contract.contract_fact import Term
from gpufleet.cost.idle_power import idle_month, physical_gpus
from gpufleet.fleet import Fleet, Pool, Unbounded
from gpufleet.fleet.as_dict import pool_as_dict
from gpufleet.fleet.balance import host_share
from gpufleet.fleet.explained import contract_of
from gpufleet.fleet.neuron import is_neuron
from gpufleet.fleet.price_rules import price_region
from gpufleet.render.pod_request import requested_units
from gpufleet.render.slots import draw_partition
from gpufleet.render.slots_svg import draw_partition_svg
from gpufleet.spec.base import Ownership


@click.command()
@click.argument("source", metavar="SPEC")
@click.argument("pool", required=False)
@click.option("--svg", "svg", metavar="FILE", help="Also draw the pool's GPUs into an SVG file.")
@usd_per_kwh_option
@as_of_option
@format_option
def command(
    source: str,
    pool: str | None,
    svg: str | None,
    usd_per_kwh: float | None,
    as_of: datetime | None,
    output_format: str,
) -> None:
    """Explain a FleetSpec pool by pool: who installs what, how GPUs are shared, what it costs, why.

    SPEC is a YAML or JSON file, a Pulumi stack file with `gpufleet:fleet`, or `-`. Without POOL,
    all pools are explained.

    \b
        gpufleet explain stacks/Pulumi.sandbox-dev.yaml
        gpufleet explain fleet.yaml notebooks --svg notebooks.svg
    """
    compiled = compile_files(source, None, as_of)
    fleet = compiled.fleet
    pools = _chosen(fleet, pool) if fleet is not None else ()
    if svg is not None:
        _draw(pools, svg)
    if output_format == "json":
        findings = [finding.as_dict() for finding in compiled.findings]
        power = [idle_month(one).as_dict(usd_per_kwh) for one in pools]
        print_json(
            {
                "pools": [pool_as_dict(one) for one in pools],
                "idlePower": power,
                "findings": findings,
            }
        )
    else:
        print_findings(compiled.findings)
        click.echo("" if fleet is None else pools_as_text(fleet, pools, usd_per_kwh))
    sys.exit(exit_code(compiled.findings))


def pools_as_text(fleet: Fleet, pools: Iterable[Pool], usd_per_kwh: float | None = None) -> str:
    """The output of the command for pools of a fleet."""
    terms = {pool.name: contract_of(pool, fleet) for pool in fleet.pools}
    return "\n\n".join(
        "\n".join([_explained(one, terms[one.name], usd_per_kwh), *quota_lines(fleet, one.name)])
        for one in pools
    )


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


def _explained(pool: Pool, terms: Sequence[Term], usd_per_kwh: float | None) -> str:
    """One pool: hardware, owners, contract, sharing, requests, a drawing of its GPUs, price."""
    facts: list[tuple[str, str]] = [
        ("machine", _machines(pool)),
        ("each GPU", _next_to_gpus(pool)),
        ("nodes", _nodes(pool)),
        ("sharing", sharing_line(pool)),
        ("brought by", _brought_by(pool)),
        *((term.part, term.who) for term in terms),
    ]
    tolerated = (
        f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
        for taint in pool.work_taints
    )
    bought = ", then ".join(entry.mode for entry in pool.capacity)
    return "\n".join(
        [
            f"{click.style(pool.name, bold=True)}  {pool.intent.value}, bought as {bought}",
            *(f"  {name:<12} {text}" for name, text in facts if text),
            "  pods ask for",
            *(f"    {one}" for one in (*_requests(pool), *_claims(pool))),
            "  and tolerate",
            *(f"    {one}" for one in tolerated),
            *_drawn(pool),
            f"  {'price':<12} {_price(pool)}",
            f"  {'idle power':<12} {_idle(pool, usd_per_kwh)}",
        ]
    )


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


def _machines(pool: Pool) -> str:
    names = [machine.name for machine in pool.machines]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    made = pool.partition.vgpu
    device = pool.gpu.key if made is None else f"vGPU {made.type.name} of {pool.gpu.key}"
    return f"{shown}: {pool.gpus_per_node} x {device}"

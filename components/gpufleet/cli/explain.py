"""`gpufleet explain`: a compiled fleet as text, with the proof of each MIG layout."""

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime

import click

from gpufleet.cli.html_page import calendar_pictures, fleet_page
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
from gpufleet.cli.pool_lines import explain_pool
from gpufleet.cli.source import compile_files
from gpufleet.cli.tables import quota_lines
from gpufleet.cost.idle_power import idle_month
from gpufleet.fleet import Fleet, Pool
from gpufleet.fleet.as_dict import pool_as_dict
from gpufleet.fleet.explained import contract_of
from gpufleet.render.slots_svg import draw_partition_svg


@click.command()
@click.argument("source", metavar="SPEC")
@click.argument("pool", required=False)
@click.option("--svg", "svg", metavar="FILE", help="Also draw the pool's GPUs into an SVG file.")
@click.option("--html", "html", metavar="FILE", help="Also write a page with pictures.")
@usd_per_kwh_option
@as_of_option
@format_option
def command(
    source: str,
    pool: str | None,
    svg: str | None,
    html: str | None,
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
        gpufleet explain fleet.yaml --html fleet.html

    The page of --html contains all in one file: findings, spend, the slots of each pool, and a
    calendar from --as-of on (or from today) if the declaration has dates.
    """
    compiled = compile_files(source, None, as_of)
    fleet = compiled.fleet
    pools = _chosen(fleet, pool) if fleet is not None else ()
    if svg is not None:
        _draw(pools, svg)
    if html is not None and fleet is not None:
        page = fleet_page(fleet, pools, compiled.findings, calendar_pictures(fleet, as_of))
        write_file(html, page)
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
        "\n".join([explain_pool(one, terms[one.name], usd_per_kwh), *_quotas(fleet, one)])
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


def _quotas(fleet: Fleet, pool: Pool) -> Iterator[str]:
    if fleet.spec.queues is not None:
        yield from quota_lines(fleet, fleet.spec.queues, pool.name)

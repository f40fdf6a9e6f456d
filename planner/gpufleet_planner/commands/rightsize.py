"""`gpufleet rightsize`: use of GPUs by pods, and the sufficient devices."""

import sys
from fractions import Fraction
from typing import Any

import click

from gpufleet.catalogue import Catalogue, load
from gpufleet.catalogue.regions import check_region
from gpufleet.cli import prometheus
from gpufleet.cli.help_screen import ScreenCommand
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    exit_code,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
)
from gpufleet.cli.source import read_mapping, read_text
from gpufleet.cost.dump import Series, UnreadableDumpError, read_series
from gpufleet.documents.plain_data import picked
from gpufleet.findings import Finding, has_errors, ordered
from gpufleet.messages import one_line
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet.spec.document import fleet_part
from gpufleet_planner.commands.size_choices import SELLERS
from gpufleet_planner.planning.need import Isolation
from gpufleet_planner.planning.offers import Market
from gpufleet_planner.planning.option import usd
from gpufleet_planner.rightsize.advice import Advice, Conclusion, advise
from gpufleet_planner.rightsize.usage import MEMORY, QUERY, workloads
from gpufleet_planner.tables import texts

HOURS_PER_MONTH = 730


@click.command(
    cls=ScreenCommand,
    first=("url", "days", "spec", "platform", "region", "output_format"),
)
@click.argument("files", metavar="[FILE]...", nargs=-1)
@options(__file__, "rightsize", platform=click.Choice(SELLERS))
@format_option
def command(
    files: tuple[str, ...],
    url: str | None,
    days: int,
    spec: str | None,
    platform: str | None,
    region: str | None,
    isolation: str,
    least_saving: int,
    max_slowdown: float,
    show_query: bool,
    output_format: str,
) -> None:
    """Compare the devices that pods held with their use, and propose a share, a slice, a smaller
    GPU or fewer GPUs, with the saving and the risks.

    FILE is the result of a range query or the output of `promtool tsdb dump`, with samples of
    DCGM's exporter and kube-state-metrics:

    \b
        gpufleet rightsize --prometheus http://localhost:9090 --days 14 --spec fleet.yaml
        curl -G $PROMETHEUS/api/v1/query_range -d start=... -d end=... -d step=60 \\
          --data-urlencode "query=$(gpufleet rightsize --query)" > use.json
        gpufleet rightsize use.json --spec fleet.yaml

    A proposal has the measured peak of memory with a margin of 5 %, and the measured compute and
    memory traffic take at most 90 % of it. One request or step takes at most twice as long there
    (`--max-slowdown`). The saving is the part of the machines that becomes free: it is money once
    other pods use it or the nodes are removed. Devices that pods share, and compute that was not
    measured, are `unknown`.

    JSON: {"workloads": [...], "savingMicroUsdPerHour", "findings"}. Exits 1 when the
    declaration has an error, 2 when something cannot be read or no use was measured.
    """
    if show_query:
        click.echo(QUERY)
        return
    if bool(files) is (url is not None):
        raise click.UsageError("name FILE or --prometheus, one of them")
    if spec is None and platform is None:
        raise click.UsageError("name --spec, or --platform and --region: prices differ")
    if spec is not None and (platform or region):
        raise click.UsageError("--spec states platform and region: remove --platform and --region")
    market, catalogue, findings = _market(spec, platform, region)
    answers: list[Advice] = []
    if not has_errors(findings):
        measured = workloads(_series(files, url, days))
        require_something(
            measured,
            f"no series {MEMORY} has the labels `pod` and `UUID` and a number: nothing is known",
        )
        answers = [
            advise(
                one,
                market,
                catalogue,
                isolation=Isolation(isolation),
                least_saving=Fraction(least_saving, 100),
                max_slowdown=Fraction(max_slowdown),
            )
            for one in measured
        ]
    if output_format == "json":
        document: dict[str, Any] = {"workloads": [advice_as_dict(one) for one in answers]}
        saved = sum(one.saving_micro_usd or 0 for one in answers)
        document["savingMicroUsdPerHour"] = round(saved)
        print_json({**document, "findings": [found.as_dict() for found in ordered(findings)]})
    else:
        print_findings(findings)
        _print_text(answers)
    sys.exit(exit_code(findings))


def _market(
    spec: str | None, platform: str | None, region: str | None
) -> tuple[Market, Catalogue, list[Finding]]:
    if spec is None:
        name, catalogue = platform or "", load()
        cloud = PLATFORMS[Platform(name)].facts.cloud
        clouds = () if cloud is None else (cloud,)
        unknown = list(check_region(region, clouds, catalogue, "--region"))
        return Market((name,), region), catalogue, unknown
    compiled = compile_data(fleet_part(read_mapping(spec)))
    findings = list(compiled.findings)
    if compiled.fleet is None:
        return Market(()), load(), findings
    stated = compiled.fleet.spec
    catalogue = load(stated.catalogue, overlay=stated.catalogue_overlay)
    sells = PLATFORMS[stated.platform].facts.cloud is not None
    market = Market((stated.platform.value,) if sells else (), stated.cluster.region)
    errors = [one for one in findings if one.severity.value == "error"]
    return market, catalogue, errors


def _series(files: tuple[str, ...], url: str | None, days: int) -> list[Series]:
    found: list[Series] = []
    for source in files or (url or "",):
        with refusing(UnreadableDumpError, file=source):
            text = (
                read_text(source) if files else prometheus.query_range(source, QUERY, days * 86_400)
            )
            found += read_series(text)
    require_something(
        any(one.labels.get("__name__") == MEMORY for one in found),
        f"there is no series {MEMORY}: `gpufleet rightsize --query` prints what to request",
    )
    return found


def advice_as_dict(one: Advice) -> dict[str, Any]:
    """One workload as JSON has it."""
    work, option = one.workload, one.proposal
    measured = [use.compute for use in work.uses if use.compute is not None]
    return {
        **picked(work, "namespace", "kind", "name"),
        "pods": work.pods_at_once,
        "holds": one.holds,
        "hours": round(work.hours, 2),
        "peakMemoryBytes": max(use.peak_memory for use in work.uses),
        "compute": max(measured, default=None),
        **picked(one, "verdict", "reason", "confidence"),
        "microUsdPerHour": _whole(one.micro_usd),
        "savingMicroUsdPerHour": _whole(one.saving_micro_usd),
        "risks": list(one.risks),
        "proposal": None
        if option is None
        else {
            "device": option.share.label,
            "gpu": option.machine.gpu.key,
            "share": option.share.resource_key,
            "memoryBytes": option.share.usable_bytes,
            **picked(option, "devices_each", "pods"),
            "machine": option.machine.name,
            "microUsdPerHour": _whole(option.micro_usd),
            "slowdown": None if one.slowdown is None else round(float(one.slowdown), 2),
        },
    }


def _whole(micro_usd: float | None) -> int | None:
    return None if micro_usd is None else round(micro_usd)


def _print_text(answers: list[Advice]) -> None:
    for one in sorted(answers, key=lambda each: -(each.saving_micro_usd or 0)):
        work, option, several = one.workload, one.proposal, one.workload.pods_at_once != 1
        each = f"{option.devices_each} x " if option is not None and option.devices_each > 1 else ""
        facts: dict[str, Any] = {"one": one, "option": option, "each": each}
        facts["saving"] = usd(one.saving_micro_usd)
        facts["name"] = f"{work.namespace}/{work.name}"
        facts["pods"] = f"{work.pods_at_once} pods of " if several else ""
        for line in texts("rightsize", facts):
            click.echo(one_line(line))
    total = sum(one.saving_micro_usd or 0 for one in answers)
    month = total * HOURS_PER_MONTH / 1e6
    click.echo(
        f"Saving: {total / 1e6:,.2f} USD/h, {month:,.0f} USD a month of {HOURS_PER_MONTH} h,"
    )
    click.echo("once other pods use the free part, or its nodes are removed.")
    for one in answers:
        for risk in one.risks if one.verdict is not Conclusion.FITS else ():
            click.echo(f"{one.workload.namespace}/{one.workload.name}: {risk}")

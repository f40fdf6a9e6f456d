"""`gpufleet plan`: workloads -> a FleetSpec that compiles and passes the policies."""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from gpufleet.catalogue import load
from gpufleet.cli.moments import as_of_option
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    exit_code,
    format_option,
    print_findings,
    print_json,
    write_file,
)
from gpufleet.cli.source import read_mapping
from gpufleet.documents.plain_data import plain_data
from gpufleet.documents.writing import commented
from gpufleet.findings import Finding, ordered
from gpufleet.fleet import fleet_as_dict
from gpufleet_planner.explanation.explain import explain_option
from gpufleet_planner.planning.elsewhere import places_text, plan_elsewhere
from gpufleet_planner.planning.engine_arguments import check_manifests
from gpufleet_planner.planning.manifest import (
    manifest_text,
    manifests,
    plan_as_dict,
    planned_objects,
    spec_text,
)
from gpufleet_planner.planning.plan import PlannedFleet, plan
from gpufleet_planner.planning.pools import autoscaling_hint


@click.command()
@click.argument("file", metavar="FILE")
@options(__file__, "plan")
@as_of_option
@format_option
def command(
    file: str,
    manifest_file: str | None,
    offers: tuple[str, ...],
    regions: str | None,
    explain: bool,
    as_of: datetime | None,
    output_format: str,
) -> None:
    """Plan the cheapest fleet for a file of models, jobs and notebooks.

    FILE is YAML or JSON, or `-`; docs/planner.md describes it. Text is a FleetSpec ready to commit,
    every pool with its derivation as a comment; findings go to standard error.

    \b
        platform: eks
        cluster: {name: ml, region: us-east-1}
        workloads: [{name: chat, workload: inference, model: Llama-3.1-8B, context: 8192}]

    \b
        gpufleet plan workloads.yaml --manifests pods.yaml > fleet.yaml
        gpufleet plan workloads.yaml --regions us-east-1,eu-west-1,us-central1

    JSON: {"spec", "pools", "workloads", "cost", "confidence", "places", "findings"}.
    Exits 1 when a workload or the fleet has an error, 2 when FILE cannot be read.
    """
    data = read_mapping(file)
    answer = plan(data, as_of=as_of)
    documents = manifests(answer)
    wanted = [name.strip() for name in (regions or "").split(",") if name.strip()]
    places, notes = plan_elsewhere(data, wanted, offers, as_of)
    findings = ordered((*answer.findings, *notes, *_policies(answer, documents)))
    if manifest_file is not None and answer.spec is not None:
        write_file(manifest_file, manifest_text(answer))
        findings = ordered((*findings, *check_manifests(answer)))
    if output_format == "json":
        numbers = {
            work.entry.name: plain_data(explain_option(work.need, work.option))
            for work in (answer.workloads if explain else ())
        }
        hints = {work.entry.name: autoscaling_hint(work) for work in answer.workloads}
        print_json(
            {
                **plan_as_dict(answer, hints),
                "manifests": list(planned_objects(answer)),
                "places": [place.as_dict() for place in places],
                **({"explain": numbers} if explain else {}),
                "findings": [f.as_dict() for f in findings],
            }
        )
    else:
        click.echo(spec_text(answer, explain=explain), nl=False)
        if places:
            click.echo(commented(places_text(places)), nl=False)
        print_findings(findings)
    sys.exit(exit_code(findings))


def _policies(answer: PlannedFleet, documents: tuple[dict[str, Any], ...]) -> list[Finding]:
    """Violations of policy rules by the planned fleet and its workloads."""
    if answer.fleet is None:
        return []
    from gpufleet.cluster import Locator
    from gpufleet.rules.context import RuleContext
    from gpufleet_policies.readers.fleet import fleet_from
    from gpufleet_policies.readers.workload import workload_from
    from gpufleet_policies.rules.settings import RuleSettings
    from gpufleet_policies.rules.validate import validate

    facts = fleet_from({"fleet": fleet_as_dict(answer.fleet)}, Locator("GpuFleet", "plan"))
    if facts is None:
        return []
    context = RuleContext(datetime.now(UTC).date(), load, facts)
    found = validate(facts, context, RuleSettings())
    for document in documents:
        name = document["metadata"]["name"]
        place = Locator(document["kind"], name, document["metadata"]["namespace"])
        group = document["apiVersion"].split("/")[0]
        work = workload_from(document, place, group)
        if work is not None:
            found += validate(work, context, RuleSettings())
    # Fields of a manifest that a rule requires, in the spelling of the file of workloads.
    fix = "write `culledAfterHours`, where your notebook server ends idle ones"
    unculled = "gpu-notebook-without-culling"
    return [replace(one, fix=fix) if one.code == unculled else one for one in found]

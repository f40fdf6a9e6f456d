"""`gpufleet render`: every manifest, values file and NVIDIA configuration as files."""

import sys
from datetime import datetime
from pathlib import Path

import click

from gpufleet.cli.moments import MomentType
from gpufleet.cli.options import options
from gpufleet.cli.output import exit_code, format_option, print_findings, print_json
from gpufleet.cli.rendered_folder import (
    FileChange,
    FolderPlan,
    apply_plan,
    digest,
    plan_folder,
)
from gpufleet.cli.source import compile_files
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.fleet import Fleet
from gpufleet.render.artefacts import artefacts
from gpufleet.render.gitops import GitPlace, argocd_files, flux_files, in_waves
from gpufleet.render.releases import releases

_finding = findings_in(__file__)


@click.command()
@click.argument("source", metavar="SPEC")
@options(__file__, "render", at=MomentType())
@format_option
def command(
    source: str,
    out: str,
    dry_run: bool,
    prices: str | None,
    at: datetime | None,
    tool: str | None,
    repo: str | None,
    repo_path: str | None,
    revision: str,
    output_format: str,
) -> None:
    """Render a FleetSpec into files, for GitOps and for reading.

    SPEC is a YAML or JSON file, a Pulumi stack file with `gpufleet:fleet`, or `-`. The same SPEC
    (at the same --at) always gives the same bytes. With an error among the findings nothing is
    written. Files of an earlier run that are no longer rendered are removed; other files are
    never changed.

    \b
        gpufleet render fleet.yaml --out deploy/gpu
        gpufleet render fleet.yaml --out deploy/gpu --dry-run --format json
        gpufleet render fleet.yaml --out deploy/gpu --for argocd --repo https://git.example.com/gpu

    JSON: a list of {"path", "kind", "purpose", "status", "bytes", "sha256"}; findings go to
    standard error. Exits 1 when a finding is an error, 2 when SPEC or DIR cannot be used.
    """
    if (tool is None) is not (repo is None):
        raise click.UsageError("--for and --repo are only used together")
    compiled = compile_files(source, prices, at)
    findings: list[Finding] = list(compiled.findings)
    plan: FolderPlan | None = None
    if compiled.fleet is not None and compiled.deployable:
        files = artefacts(compiled.fleet)
        if tool is not None and repo is not None:
            place = GitPlace(repo, (repo_path or out).strip("/"), revision)
            more = (argocd_files if tool == "argocd" else flux_files)(compiled.fleet, place)
            files = (*in_waves(files), *more)
            findings += _wired(compiled.fleet)
        plan = plan_folder(Path(out), files)
        findings += plan.findings
    print_findings(findings)
    changes: tuple[FileChange, ...] = ()
    if plan is not None and not has_errors(findings):
        changes = plan.changes
        if not dry_run:
            apply_plan(plan)
    if output_format == "json":
        print_json([_as_dict(change) for change in changes])
    else:
        for change in changes:
            purpose = "" if change.artefact is None else change.artefact.purpose
            click.echo(f"{change.status:10}{change.path}  {purpose}".rstrip())
    sys.exit(exit_code(findings))


def _wired(fleet: Fleet) -> list[Finding]:
    """Values that only deployed resources of a cloud have."""
    return [
        _finding("gitops-value-open", chart=release.chart.name, key=key)
        for release in releases(fleet)
        for key in release.wired
        if value_at(release.values, key) is None
    ]


def _as_dict(change: FileChange) -> dict[str, object]:
    file = change.artefact
    if file is None:
        return {"path": change.path, "status": change.status}
    data = file.text.encode()
    return {
        "path": change.path,
        "kind": file.kind.value,
        "purpose": file.purpose,
        "status": change.status,
        "bytes": len(data),
        "sha256": digest(data),
    }

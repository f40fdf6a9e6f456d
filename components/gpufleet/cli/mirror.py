"""`gpufleet mirror`: every chart and image that a site without Internet access must copy."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from gpufleet.cli.options import options
from gpufleet.cli.output import exit_code, format_option, print_findings, print_json
from gpufleet.cli.source import compile_files
from gpufleet.documents.data_files import data_part
from gpufleet.documents.writing import commented, yaml_stream, yaml_text
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.messages import counted, one_line
from gpufleet.render.fleet_release import FleetRelease
from gpufleet.render.mirror import MirrorList, as_dict, mirror_list

_finding = findings_in(__file__)

NODE_OS = re.compile(r"[a-z]+[0-9]+(\.[0-9]+)*")
"""ID and VERSION_ID of a node's os-release, as NVIDIA's operators join them (NVIDIA/gpu-operator,
`getGPUNodeOSInfo`)."""
SYSTEMS = ("ubuntu", "rhel", "rhcos", "rocky", "sles")
"""Systems with images of NVIDIA (NVIDIA/gpu-driver-container @ 7f9a9e3 `.github/image-matrix.json`;
rhcos: the same folders as rhel; sles: DOCA-OFED). Images of your own may be for others."""


@click.command()
@click.argument("source", metavar="SPEC")
@options(__file__, "mirror")
@format_option
def command(
    source: str,
    tool: str | None,
    node_os: tuple[str, ...],
    require_known: bool,
    output_format: str,
) -> None:
    """List every chart and image that a fleet pulls, for sites without Internet access.

    SPEC is a YAML or JSON file, a Pulumi stack file with `gpufleet:fleet`, or `-`. An image whose
    tag is not in the catalogue is listed as not known. `addons.images.registry` is the registry
    from which the fleet pulls the copies.

    \b
        gpufleet mirror fleet.yaml
        gpufleet mirror fleet.yaml --node-os ubuntu24.04 --for hauler > hauler-manifest.yaml

    JSON: {"charts": [{"name", "version", "repository", "namespace"}], "images": [{"source",
    "target", "digest", "users"}], "notKnown": [{"image", "user", "reason", "fix"}]}; findings go
    to standard error. Exits 1 when a finding is an error, or with --require-known an image is not
    known, 2 when SPEC cannot be used.
    """
    if tool is not None and output_format == "json":
        raise click.UsageError(f"--for writes the file of {tool}, and --format json the list")
    for name in node_os:
        if not NODE_OS.fullmatch(name):
            wanted = "not a system with its release, such as ubuntu24.04 or rhcos4.21"
            raise click.BadParameter(f"{one_line(name)!r} is {wanted}", param_hint="--node-os")
    compiled = compile_files(source, None)
    findings: list[Finding] = list(compiled.findings)
    for name in node_os:
        if name.rstrip("0123456789.") not in SYSTEMS:
            findings.append(_finding("mirror-system-unknown", found=name, known=SYSTEMS))
    found: MirrorList | None = None
    if compiled.fleet is not None and compiled.deployable:
        if tool == "skopeo" and compiled.fleet.spec.addons.images.registry is None:
            findings.append(_finding("mirror-registry-missing"))
        if not has_errors(findings):
            found = mirror_list(compiled.fleet, node_os)
    print_findings(findings)
    if found is not None and compiled.fleet is not None:
        if tool is not None:
            click.echo(_file(found, tool, compiled.fleet.spec.cluster.name), nl=False)
            _print_unknown(found, to_stderr=True)
        elif output_format == "json":
            print_json(as_dict(found))
        else:
            _print(found)
            _print_unknown(found, to_stderr=False)
    unknown = require_known and found is not None and bool(found.not_known)
    sys.exit(exit_code(findings) or int(unknown))


def _file(found: MirrorList, tool: str, name: str) -> str:
    if tool == "skopeo":
        return skopeo_script(found)
    return (hauler_manifest if tool == "hauler" else zarf_package)(found, name)


def _print(found: MirrorList) -> None:
    click.echo(counted(len(found.charts), "chart"))
    for release in found.charts:
        click.echo(f"  {release.chart.name} {release.version}  {release.chart.repository}")
    click.echo(counted(len(found.images), "image"))
    for image in found.images:
        moved = "" if image.source == image.target else f"  as {image.target}"
        click.echo(f"  {image.source}{moved}  ({', '.join(image.users)})")


def _print_unknown(found: MirrorList, *, to_stderr: bool) -> None:
    if not found.not_known:
        return
    click.echo(f"{len(found.not_known)} not known", err=to_stderr)
    for one in found.not_known:
        click.echo(f"  {one.image}  ({one.user}): {one.reason}", err=to_stderr)
        click.echo(f"      fix: {one.fix}", err=to_stderr)


# A mirror list in the formats of tools that transfer images over an air gap.
#
# `mirror.yaml` has those of Hauler and Zarf. skopeo: `skopeo copy`, because `skopeo sync` keeps
# either no path or the registry's name too (containers/skopeo at 2c85fb5, `docs/skopeo-sync.1.md`).

_OCI = "oci://"
_FILE = Path(__file__).with_suffix("")


def hauler_manifest(found: MirrorList, name: str) -> str:
    """For `hauler store sync --filename`."""
    images = [{"name": one.source} for one in found.images]
    charts = [_hauler_chart(one) for one in found.charts]
    documents = [
        data_part(_FILE, "images", name=name, images=images),
        data_part(_FILE, "charts", name=name, charts=charts),
    ]
    return yaml_stream(documents, _missing(found))


def _hauler_chart(release: FleetRelease) -> dict[str, str]:
    """An OCI reference is split into the chart's name and the path before it."""
    address, name = release.chart.repository, release.chart.name
    if address.startswith(_OCI):
        address, _, name = address.rpartition("/")
    return {"name": name, "repoURL": address, "version": release.version}


def zarf_package(found: MirrorList, name: str) -> str:
    """`zarf.yaml`: one component with all charts, their values files and all images."""
    charts: list[dict[str, Any]] = []
    for one in found.charts:
        chart, url = one.chart.name, one.chart.repository
        fields = {"name": chart, "version": one.version, "url": url, "namespace": one.namespace}
        charts.append(data_part(_FILE, "chart", **fields))
    images = [one.source for one in found.images]
    package = data_part(_FILE, "package", name=name, charts=charts, images=images)
    return yaml_text(package, _missing(found))


def skopeo_script(found: MirrorList) -> str:
    """A shell script that copies each image to the fleet's registry."""
    copies = [
        f"skopeo copy --all --preserve-digests docker://{shlex.quote(_one_name(one.source))} "
        f"docker://{shlex.quote(_one_name(one.target))}"
        for one in found.images
        if one.source != one.target
    ]
    missing = commented(_missing(found)).splitlines()
    return "\n".join(["#!/bin/sh", *missing, "set -eu", *copies, ""])


def _one_name(reference: str) -> str:
    """skopeo accepts a tag or a digest, and refuses both."""
    name, _, digest = reference.partition("@")
    tagged, colon, tag = name.rpartition(":")
    return f"{tagged if colon and '/' not in tag else name}@{digest}" if digest else name


def _missing(found: MirrorList) -> str:
    lines = [f"  {one.image} of {one.user}: {one.reason}" for one in found.not_known]
    return "\n".join(["Not in this list:", *lines]) if lines else ""

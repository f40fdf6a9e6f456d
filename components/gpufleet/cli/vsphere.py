"""`gpufleet vsphere`: what a vCenter offers, and which pools fit now."""

import sys
from typing import Any

import click

from gpufleet.cli.output import UnreadableInputError, format_option, print_findings, print_json
from gpufleet.cli.source import compile_source


@click.group("vsphere")
def command() -> None:
    """Ask a vCenter, read-only: hosts, GPUs, vGPU profiles, free slots.

    The user name and password come from VSPHERE_USER and VSPHERE_PASSWORD.
    """


@command.command("inventory")
@click.argument("source", metavar="[SPEC]", required=False)
@click.option("--server", required=True, help="Host name or address of the vCenter.")
@click.option("--port", type=click.IntRange(1, 65_535), default=443, show_default=True)
@click.option("--datacenter", required=True, help="Datacenter, by name or inventory path.")
@click.option("--cluster", required=True, help="Cluster, or standalone host.")
@click.option("--ca-cert-file", metavar="FILE", help="Authority of the certificate, PEM.")
@click.option("--thumbprint-sha256", metavar="AB:CD:…", help="Fingerprint it must have.")
@click.option("--insecure", is_flag=True, help="Accept any certificate.")
@click.option("--plain-http", is_flag=True, help="Without TLS: a simulator on this machine.")
@format_option
def inventory(source: str | None, output_format: str, **asked: Any) -> None:
    """Print hosts, GPUs and profiles of a cluster, and which pools of SPEC fit now.

    Each pool is judged alone, beside what already runs. SPEC is a FleetSpec, or `-`.

    \b
        gpufleet vsphere inventory fleet.yaml --server vc.example.com --datacenter DC1 --cluster gpu

    JSON: {"hosts": [...], "pools": [...]}. Exits 1 when a pool does not fit or SPEC has an error, 2
    when SPEC cannot be read or vCenter cannot be asked.
    """
    pools: tuple[Any, ...] = ()
    if source is not None:
        compiled = compile_source(source, None)
        if compiled.fleet is None or not compiled.deployable:
            print_findings(compiled.findings)
            sys.exit(1)
        pools = compiled.fleet.pools
    found = _asked(pools, asked)
    if output_format == "json":
        print_json(found)
    else:
        _print(found)
    sys.exit(1 if any(row["fit"] < row["wanted"] for row in found["pools"]) else 0)


def _asked(pools: tuple[Any, ...], asked: dict[str, Any]) -> dict[str, Any]:
    try:
        from gpufleet.nodes.vsphere.ask_inventory import ask_inventory
        from gpufleet.nodes.vsphere.errors import VsphereError
    except ModuleNotFoundError as problem:
        raise UnreadableInputError(
            f"{problem.name} is not installed: pip install 'pulumi-gpufleet[vsphere]'"
        ) from None
    endpoint = {
        "server": asked["server"],
        "port": asked["port"],
        "insecure": asked["insecure"],
        "plainHttp": asked["plain_http"],
        "caCertFile": asked["ca_cert_file"],
        "thumbprintSha256": asked["thumbprint_sha256"],
    }
    try:
        return ask_inventory(endpoint, asked["datacenter"], asked["cluster"], pools)
    except VsphereError as problem:
        raise UnreadableInputError(str(problem)) from None


def _print(found: dict[str, Any]) -> None:
    for host in found["hosts"]:
        state = "in maintenance" if host["maintenance"] else "connected"
        state = state if host["connected"] else "not connected"
        click.echo(f"{host['host']}: {state}, {host['freeMemoryGib']} GiB of memory unreserved")
        for gpu in host["gpus"]:
            label = f", label {gpu['label']}" if gpu["label"] else ""
            held = f", held by {gpu['heldBy']}" if gpu["heldBy"] else ""
            click.echo(
                f"  {gpu['address']} {gpu['name']} ({gpu['deviceId']}, {gpu['memoryGib']} GiB): "
                f"passthrough {gpu['passthrough']}, {gpu['graphicsType'] or 'no graphics device'}"
                f"{label}{held}"
            )
        for profile, free in host["profiles"].items():
            click.echo(f"  profile {profile}: {free} more fit")
    for row in found["pools"]:
        bound = " at most, by what the hosts say" if row["upperBound"] else ""
        click.echo(f"pool {row['pool']}: {row['fit']} of {row['wanted']} machines fit{bound}")
        if row["refusal"]:
            click.echo(f"      because {row['refusal']}")

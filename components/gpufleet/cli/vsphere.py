"""`gpufleet vsphere`: offers of a vCenter, pools that fit, and orphaned machines."""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click

from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    format_option,
    print_findings,
    print_json,
    refusing,
    require_something,
)
from gpufleet.cli.source import compile_source
from gpufleet.documents.plain_data import camel
from gpufleet.installation import install_command
from gpufleet.platforms.vsphere.machine_arguments import placed_machines


@click.group("vsphere")
def command() -> None:
    """Query a vCenter, read-only: hosts, GPUs, vGPU profiles, free slots, orphans.

    The user name and password come from VSPHERE_USER and VSPHERE_PASSWORD.
    """


_where = options(__file__, "vsphere")
"""Options of the connection to vCenter."""


@command.command("inventory")
@click.argument("source", metavar="[SPEC]", required=False)
@_where
@options(__file__, "vsphere inventory")
@format_option
def inventory(
    source: str | None, cluster: str, name_prefix: str | None, output_format: str, **asked: Any
) -> None:
    """Print hosts, GPUs and profiles, and which pools fit now.

    Each pool is validated alone, with the machines that already run; existing machines of its own
    count as fitting. SPEC is a FleetSpec, or `-`.

    \b
        gpufleet vsphere inventory fleet.yaml --server vc.example.com --datacenter DC1 --cluster gpu

    With vGPU pools also the requirements of vGPUs on each host, as far as the API shows them.

    JSON: {"hosts": [...], "pools": [...], "vgpu": [...]}. Exits 1 when a pool does not fit or SPEC
    has an error, 2 when SPEC cannot be read, vCenter cannot be asked or the cluster has no host.
    """
    pools: dict[str, list[dict[str, Any]]] = {}
    if source is not None:
        compiled = compile_source(source, None)
        if compiled.fleet is None or not compiled.deployable:
            print_findings(compiled.findings)
            sys.exit(1)
        spec = compiled.fleet.spec
        prefix = name_prefix or spec.resource_prefix
        with refusing(ValueError):
            pools = {
                pool.name: list(placed_machines(prefix, pool).values())
                for pool in compiled.fleet.pools
                if pool.spec.vsphere is not None
            }
    with _library():
        from gpufleet_vcenter.inventory_report import ask_inventory

        found = ask_inventory(_endpoint(asked), asked["datacenter"], cluster, pools)
    if output_format == "json":
        print_json(found)
    else:
        _print(found)
    require_something(found["hosts"], f"{cluster} has no host, so nothing is known about GPUs")
    sys.exit(1 if any(row["fit"] < row["wanted"] for row in found["pools"]) else 0)


@command.command("orphans")
@click.argument("states", metavar="STATE...", nargs=-1)
@_where
@options(__file__, "vsphere orphans")
@format_option
def orphans(
    states: tuple[str, ...], stacks: tuple[str, ...], output_format: str, **asked: Any
) -> None:
    """Print machines with gpufleet's marks that no STATE declares.

    STATE is the output of `pulumi stack export`, or `-`. Machines of stacks that are neither given
    nor named cannot be classified and are listed separately. Nothing is changed; you remove the
    machines yourself.

    \b
        pulumi stack export | gpufleet vsphere orphans - --server vc.example.com --datacenter DC1

    JSON: {"machines": [...]}. Exits 1 when something is left: orphans, copies, or machines that
    were not completed; 2 when a STATE cannot be read or vCenter cannot be asked.
    """
    with _library():
        from gpufleet_vcenter.orphan_report import (
            StateStanding,
            ask_orphans,
            declared_by,
        )

        with refusing(ValueError, file=", ".join(states)):
            declared = declared_by([_state(name) for name in states], stacks)
        found = ask_orphans(_endpoint(asked), asked["datacenter"], declared)
    left = (StateStanding.ORPHAN, StateStanding.COPY, StateStanding.PENDING)
    counts = {kind: sum(row["standing"] == kind for row in found) for kind in left}
    wrong = any(counts.values())
    if output_format == "json":
        print_json({"machines": found})
    else:
        for row in found:
            if row["standing"] != StateStanding.DECLARED:
                power = "on" if row["poweredOn"] else "off"
                click.echo(
                    f"{row['standing']}: {row['path']} ({row['moRef']}, instance uuid "
                    f"{row['instanceUuid']}, powered {power}) of {row['owner']}"
                )
        listed = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        click.echo(f"{len(found)} machines with gpufleet's marks; left: {listed or 'none'}")
    sys.exit(1 if wrong else 0)


def _state(name: str) -> Any:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        state = json.loads(text)
    except (OSError, ValueError, RecursionError) as problem:
        raise UnreadableInputError(f"{name}: {problem}") from None
    if not isinstance(state, dict):
        raise UnreadableInputError(f"{name}: it is not an exported state")
    return cast("dict[str, Any]", state)


@contextmanager
def _library() -> Generator[None, None, None]:
    """A missing or failing part of the connection to vCenter, as an error of the command."""
    try:
        from gpufleet_vcenter.errors import VsphereError
        from gpufleet_vcenter.session import (
            Session,  # noqa: F401  # pyright: ignore[reportUnusedImport]
        )
    except ModuleNotFoundError as problem:
        raise UnreadableInputError(
            f"{problem.name} is not installed: `{install_command('vsphere')}`"
        ) from None
    with refusing(VsphereError):
        yield


def _endpoint(asked: dict[str, Any]) -> dict[str, Any]:
    names = ("server", "port", "insecure", "plain_http", "ca_cert_file", "thumbprint_sha256")
    return {camel(name): asked[name] for name in names}


_STATES = {"ok": "ok", "wrong": "wrong", "hint": "to look at", "notKnown": "not known"}


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
    for row in found.get("vgpu", ()):
        for one in row["checks"]:
            if one["state"] != "ok" or one["check"] in ("vgpuManager", "licence"):
                fix = f"; {one['fix']}" if one["fix"] else ""
                click.echo(
                    f"vGPU on {row['host']}: {one['check']} {_STATES[one['state']]}: "
                    f"{one['found']}{fix}"
                )
    for row in found["pools"]:
        bound = " at most, by what the hosts say" if row["upperBound"] else ""
        click.echo(
            f"pool {row['pool']}: {row['fit']} of {row['wanted']} machines fit{bound}, "
            f"{row['running']} of them exist"
        )
        if row["refusal"]:
            click.echo(f"      because {row['refusal']}")

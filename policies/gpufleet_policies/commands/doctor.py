"""`gpufleet doctor`: why this pod waits, why this node offers nothing, why this GPU idles."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_json,
    refusing,
    require_something,
    write_file,
)
from gpufleet.cli.source import compile_source, read_text
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.findings import has_errors
from gpufleet.fleet import Fleet
from gpufleet.messages import message, one_line


@click.command("doctor")
@click.argument("dump", metavar="DUMP", required=False)
@options(__file__, "doctor")
@format_option
def command(
    dump: str | None,
    declaration: str | None,
    pod: str | None,
    everything: bool,
    html: str | None,
    mask: bool,
    collect: bool,
    live: bool,
    kubeconfig: str | None,
    context: str | None,
    output_format: str,
) -> None:
    """Find causes in a dump of a cluster: why pods wait, nodes offer no GPU, GPUs idle. Each has
    its evidence, the chain from it, a fix, how sure it is, and a source.

    DUMP is a file of `kubectl get -o json` (or yaml), `-` for standard input, or a folder: also
    that of the GPU Operator's must-gather. Secrets and variables of containers are not read.

    \b
        gpufleet doctor --collect | sh && gpufleet doctor dump.json
        kubectl get nodes,pods,events -A -o json | gpufleet doctor - --fleet fleet.yaml
        gpufleet doctor dump.json --pod ml/train-0
        gpufleet doctor dump.json --mask --html report.html

    JSON: {"lookedAt": {...}, "findings": [...], "pending": [...], "unread": [...]}. Exits 1 when a
    finding is an error, 2 when the dump cannot be read or has nothing to look at.
    """
    from gpufleet_policies.doctor import dump as dumps
    from gpufleet_policies.doctor import report
    from gpufleet_policies.doctor.diagnosis import diagnose
    from gpufleet_policies.doctor.pending import WhyPending, proofs, prove

    if collect:
        click.echo(dumps.collect_command())
        return
    if live == (dump is not None):
        raise click.UsageError("name a DUMP, or --live")
    if (kubeconfig or context) and not live:
        raise click.UsageError("--kubeconfig and --context are used with --live only")
    unread: Sequence[str] = ()
    with refusing(UnreadableDocumentError, RuntimeError, file=dump or "the cluster"):
        if dump is None:
            cluster = dumps.read_live(kubeconfig, context)
        elif dump != "-" and Path(dump).is_dir():
            cluster, unread = dumps.read_folder(Path(dump))
        else:
            cluster = dumps.read_text(read_text(dump))
    require_something(
        cluster.nodes or cluster.pods or cluster.all("Workload"),
        f"{dump or 'the cluster'}: no node, pod or workload is in it, so there is nothing to look "
        "at; `gpufleet doctor --collect` prints the command that makes a dump",
    )
    refused = cluster.all("NotRead")
    unread = (*unread, *(f"{one.name}: the user may not list it" for one in refused))
    for one in unread:
        click.echo(f"gpufleet: not read: {one_line(message(one))}", err=True)
    found = diagnose(cluster, _fleet(declaration))
    hide = report.masker(cluster) if mask else str
    waiting: Sequence[WhyPending] = proofs(cluster)
    if pod is not None:
        name = pod.removeprefix("Pod/")
        chosen = [one for one in cluster.pods if name in {one.name, f"{one.namespace}/{one.name}"}]
        require_something(chosen, f"no pod {name} is in the dump")
        waiting = [prove(cluster, one) for one in chosen if one.waits]
        require_something(waiting, f"{name} does not wait: {chosen[0].phase}, on {chosen[0].node}")
    if html is not None:
        write_file(html, report.page(cluster, found, waiting, hide))
    if output_format == "json":
        print_json(report.masked_data(report.as_dict(cluster, found, waiting, unread), hide))
    else:
        lines = report.full_text(found) if everything else report.short_text(cluster, found)
        proven = (line for one in waiting for line in report.proof_text(one))
        for line in lines if pod is None else proven:
            click.echo(one_line(message(hide(line))))
    sys.exit(exit_code(one.finding for one in found))


def _fleet(source: str | None) -> Fleet | None:
    if source is None:
        return None
    compiled = compile_source(source, None)
    if compiled.fleet is None or has_errors(compiled.findings):
        raise UnreadableInputError(
            f"{source}: the declaration does not compile: gpufleet compile {source}"
        )
    return compiled.fleet

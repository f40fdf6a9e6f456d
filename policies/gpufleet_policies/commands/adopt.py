"""`gpufleet adopt`: the declaration of what exists already."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from gpufleet.adopt import Adoption, adopt
from gpufleet.cli.options import options
from gpufleet.cli.output import format_option, print_json, refusing, require_something
from gpufleet.cli.source import read_bytes
from gpufleet.documents.limits import JSON_DUMPS
from gpufleet.documents.plain_data import plain_data
from gpufleet.documents.reading import read_json, read_manifests
from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.observed import Observations, ObservedResource
from gpufleet.messages import message, one_line
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet.spec.document import UnreadableDocumentError

_SHOWN = 100
"""Longest value in the list for people."""


@click.command()
@click.argument("sources", metavar="FILE...", nargs=-1, required=True)
@options(
    __file__,
    "adopt",
    platform=click.Choice([k.value for k, v in PLATFORMS.items() if v.has("adoption")]),
)
@format_option
def command(
    sources: tuple[str, ...], platform: str | None, import_ids: bool, output_format: str
) -> None:
    """Write the FleetSpec of existing resources: a cluster, a plan, a state.

    FILE is the output of one of these, and several are read together; `-` is standard input:

    \b
        kubectl get nodes,nodepools,ec2nodeclasses,configmaps,clusterpolicies,machinesets -A -o json
        terraform show -json [PLAN]
        pulumi stack export
        values of a chart (gpu-operator-values.yaml)

    The declaration goes to standard output. Settings without a FleetSpec key, the ids for the
    import of resources, and unreadable parts go to standard error. Before you deploy,
    `pulumi preview --diff` shows what the engine would replace or delete (docs/adopt.md).

    JSON: {"spec": {...} | null, "imports": [{"pool", "type", "address", "id", "importId"}],
    "notExpressed": [{"resource", "path", "found", "declared"}], "notes": [...]}. Exits 1 when no
    pool was found, 2 when FILE cannot be read or holds none of these.
    """
    found = adopt(
        Observations(tuple(_read(sources))),
        PLATFORMS,
        None if platform is None else Platform(platform),
        import_ids=import_ids,
    )
    if output_format == "json":
        print_json(plain_data(found))
    else:
        _print(found)
    sys.exit(0 if found.spec is not None else 1)


def _read(sources: Sequence[str]) -> Iterator[ObservedResource]:
    from gpufleet_policies.readers.observed import resources_of

    for source in dict.fromkeys(sources):
        content = read_bytes(source, JSON_DUMPS)
        with refusing(UnreadableDocumentError, file=source):
            if content.lstrip()[:1] in (b"{", b"["):
                documents: list[Any] = [read_json(content)]
            else:
                documents = [one.data for one in read_manifests(content)]
        resources = [one for document in documents for one in resources_of(document, source)]
        require_something(
            resources,
            f"{source}: it has no dump of a cluster, plan, state or values of a chart",
        )
        yield from resources


def _print(found: Adoption) -> None:
    def say(text: str) -> None:
        click.echo(one_line(message(text)), err=True)

    if found.spec is not None:
        click.echo(yaml_text(found.spec), nl=False)
    for one in found.imports:
        if one.id is not None or one.import_id is not None:
            own = f", importId {one.import_id}" if one.import_id is not None else ""
            say(f"import {one.pool}: {one.type} {one.id or ''}{own}")
    if found.not_expressed:
        click.echo(f"{len(found.not_expressed)} not expressed", err=True)
    for one in found.not_expressed:
        place = f"{one.resource} {one.path}".rstrip()
        say(f"  {place}: {_text(one.found)}, declared {_text(one.declared)}")
    for note in found.notes:
        say(f"note: {note}")


def _text(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

"""`gpufleet partition`: whether MIG instances can be placed on a GPU."""

import re
from pathlib import Path
from typing import Any, cast

import click

from gpufleet.catalogue import Gpu, UnknownKeyError, load
from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
    refusing,
)
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_strict
from gpufleet.documents.whole_file import write_whole_text
from gpufleet.findings import Finding, error
from gpufleet.partition.nearest import NearestLayout
from gpufleet.partition.placement import MigPlacement, Refusal
from gpufleet.partition.validation import validate_layout
from gpufleet.render.slots import balance, draw_slots
from gpufleet.render.slots_svg import draw_placement_svg


@click.command("partition")
@options(__file__, "partition", svg=click.Path(dir_okay=False, writable=True, path_type=Path))
@format_option
def command(key: str, want: str, gpus: int | None, svg: Path | None, output_format: str) -> None:
    """Can these MIG instances be placed on one GPU?

    Prints the proof with start slots and the instances that still fit, or why not and the nearest
    layouts. With --gpus N also the number of such sets on a machine, each set on one GPU.
    Exits 1 when they cannot be placed.
    """
    wanted = _wanted(want)
    answer: MigPlacement | Refusal | None = None
    gpu: Gpu | None = None
    findings: tuple[Finding, ...]
    try:
        gpu = load().find_gpu(key)
    except UnknownKeyError as problem:
        near = ", ".join(problem.nearest)
        fix = f"one of {near}" if near else "`gpufleet catalogue gpus` lists them"
        findings = (error("gpu-unknown", "gpu", str(problem), fix, value=key),)
    else:
        answer, findings = validate_layout(gpu, wanted, "want")
    sets = 0 if gpu is None or gpus is None else gpus * _sets_on_one(gpu, wanted, answer)
    if output_format == "json":
        more = {} if gpus is None else {"gpus": gpus, "setsPerMachine": sets}
        print_json(_document(answer, findings) | more)
    else:
        _print_text(key if gpu is None else gpu.key, gpu, answer, findings)
        if sets and gpus:
            whole = "1 GPU holds" if gpus == 1 else f"{gpus} GPUs hold"
            click.echo(f"{whole} {sets} of these sets, {sets // gpus} on each GPU")
    if svg is not None and gpu is not None and isinstance(answer, MigPlacement):
        with refusing(file=f"--svg {svg}"):
            write_whole_text(svg, draw_placement_svg(gpu, answer))
    raise SystemExit(exit_code(findings))


def _sets_on_one(gpu: Gpu, wanted: dict[str, Any], answer: MigPlacement | Refusal | None) -> int:
    """How many times the instances can be placed on one GPU."""
    sets = 0
    while isinstance(answer, MigPlacement):
        sets += 1
        more = {name: count * (sets + 1) for name, count in wanted.items()}
        answer, _ = validate_layout(gpu, more, "want")
    return sets


def _wanted(text: str) -> dict[str, Any]:
    """The request, checked for its form; placement is validated later."""
    if _COUNTED_LIST.fullmatch(text):
        text = ", ".join(f'"{name}": {count}' for name, count in _COUNTED.findall(text))
        text = f"{{{text}}}"
    given: str | bytes = text
    if text == "-":
        from gpufleet.cli.source import read_bytes  # the readers of declarations import all models

        given = read_bytes("-")
    try:
        wanted = read_strict(given).data
    except UnreadableDocumentError as problem:
        raise UnreadableInputError(f"--want: {problem}; {_WRITE}") from problem
    if not isinstance(wanted, dict) or not any(cast("dict[str, Any]", wanted).values()):
        raise UnreadableInputError(f"--want names no instance with a count; {_WRITE}")
    return cast("dict[str, Any]", wanted)


_WRITE = (
    """write profile and count, such as 1g.10gb=3,3g.40gb=1 or '{"1g.10gb": 3, "3g.40gb": 1}'"""
)
_COUNTED = re.compile(r"([^=\s,{\[\"'][^=\s{\[\"']{0,60})=(-?[0-9]{1,19})(?=[,\s]|$)")
_COUNTED_LIST = re.compile(rf"\s*{_COUNTED.pattern}(?:[,\s]+{_COUNTED.pattern})*\s*")
"""`3g.40gb=1,1g.10gb+me=2`: profile and count, as NVIDIA's programs and shells write pairs."""


def _document(
    answer: MigPlacement | Refusal | None, findings: tuple[Finding, ...]
) -> dict[str, Any]:
    placement = answer if isinstance(answer, MigPlacement) else None
    alternatives = answer.alternatives if isinstance(answer, Refusal) else ()
    return {
        "placeable": placement is not None,
        "placements": [
            {
                "profile": instance.profile,
                "start": instance.start,
                "size": instance.size,
                **(
                    {"computeInstances": list(instance.compute_instances)}
                    if instance.compute_instances
                    else {}
                ),
            }
            for instance in (placement.instances if placement else ())
        ],
        "free": dict(placement.free) if placement else {},
        "completions": [dict(c) for c in placement.completions] if placement else [],
        "unusedCompute": placement.unused_compute if placement else None,
        "unusedMemorySlots": placement.unused_memory if placement else None,
        "strandedCompute": placement.stranded_compute if placement else None,
        "strandedMemorySlots": placement.stranded_memory if placement else None,
        "evidence": answer.evidence.value if answer else None,
        "alternatives": [_alternative(layout) for layout in alternatives],
        "findings": [finding.as_dict() for finding in findings],
    }


def _alternative(layout: NearestLayout) -> dict[str, Any]:
    return {
        "devices": dict(layout.devices),
        "changes": layout.changes,
        "unusedCompute": layout.unused_compute,
        "unusedMemorySlots": layout.unused_memory,
    }


def _print_text(
    key: str, gpu: Gpu | None, answer: MigPlacement | Refusal | None, findings: tuple[Finding, ...]
) -> None:
    if isinstance(answer, MigPlacement) and gpu is not None and gpu.mig is not None:
        click.echo(f"{key}: can be placed, {balance(gpu.mig, answer)}")
        click.echo(draw_slots(gpu.mig, answer))
    else:
        click.echo(f"{key}: cannot be placed")
    if isinstance(answer, Refusal) and answer.alternatives:
        click.echo("nearest layouts:")
        for layout in answer.alternatives:
            changes = "1 change" if layout.changes == 1 else f"{layout.changes} changes"
            click.echo(
                f"  {layout}  ({changes}, {layout.unused_compute} compute slices and "
                f"{layout.unused_memory} memory slots unused)"
            )
    print_findings(findings)

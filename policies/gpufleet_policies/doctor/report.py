"""The doctor's findings: the worst in ten lines, all as JSON or as one page. For publication,
names, images and addresses of a report are replaced: the same name has the same replacement
everywhere; kinds, keys of labels, resources, reasons and versions stay.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Any

from gpufleet.cli.html_parts import document
from gpufleet.documents.shapes import rewritten
from gpufleet.messages import counted
from gpufleet_policies.doctor.cause import Diagnosis
from gpufleet_policies.doctor.observed import SeenPod
from gpufleet_policies.doctor.pending import WhyPending
from gpufleet_policies.doctor.snapshot import Dump

LINES = 10
"""Lines of the short report."""


def groups(found: Sequence[Diagnosis]) -> list[list[Diagnosis]]:
    """Diagnoses of one cause together, in their order: that of the worst."""
    by_code: dict[str, list[Diagnosis]] = {}
    for one in found:
        by_code.setdefault(one.cause.code, []).append(one)
    return list(by_code.values())


def _line(many: Sequence[Diagnosis]) -> str:
    """Diagnoses of one cause in one line."""
    first, cause = many[0], many[0].cause
    more = f" (and {len(many) - 1} more)" if len(many) > 1 else ""
    sure = "" if cause.sure.value == "certain" else f", {cause.sure.value}"
    return f"{cause.severity.value}: {first.text('message')}{more} [{cause.code}{sure}]"


def looked_at(cluster: Dump) -> str:
    """Contents of the dump, in words."""
    nodes = counted(len(cluster.nodes), "node")
    gpus = sum(sum(node.devices.values()) for node in cluster.nodes.values())
    waits = sum(pod.waits and pod.wants_gpus for pod in cluster.pods)
    return (
        f"{nodes} with {gpus:,} GPUs or parts, {counted(len(cluster.pods), 'pod')}, "
        f"{waits:,} of them waiting for GPUs"
    )


def short_text(cluster: Dump, found: Sequence[Diagnosis]) -> Iterator[str]:
    """At most ten lines: what was looked at, then the worst causes, each with its fix."""
    if not found:
        yield f"nothing found in {looked_at(cluster)}"
        return
    yield f"{counted(len(found), 'finding')} in {looked_at(cluster)}"
    made = groups(found)
    room = (LINES - 2) // 2
    for many in made[:room]:
        yield _line(many)
        yield f"    {many[0].text('fix')}"
    if (more := len(made) - room) > 0:
        causes = counted(more, "more cause")
        yield f"and {causes}: --all shows what is left, with the evidence of each"
    else:
        yield "--all shows the evidence of each"


def full_text(found: Sequence[Diagnosis]) -> Iterator[str]:
    """Every finding with its evidence, chain, fix, edit of the declaration and source."""
    for one in found:
        cause, here = one.cause, one.found
        rank = f"[{cause.code}, {cause.sure.value}]"
        yield f"{cause.severity.value}: {here.at}: {one.text('message')} {rank}"
        for value in one.evidence:
            yield f"    {value.object} {value.field}: {value.value}"
        for link in one.chain:
            yield f"    so {link}"
        yield f"    fix: {one.text('fix')}"
        if one.text("declared"):
            yield f"    declaration: {one.text('declared')}"
        yield f"    source: {cause.reports[0]}"


def proof_text(proof: WhyPending) -> Iterator[str]:
    """Why a pod waits: each node and pool with the first reason against it."""
    yield f"{proof.pod.ref} waits: {proof.summary}"
    for one in proof.before:
        yield f"  before any node: {one}"
    for (kind, reason), (names, count) in proof.reasons.items():
        more = f" and {count - len(names)} more" if count > len(names) else ""
        yield f"  {', '.join(names)}{more}: {f'{kind}: {reason}' if kind else 'fits'}"
    for pool in proof.pools:
        yield f"  NodePool {pool.name}: {pool.reason or 'can make a node'}"
    for part in proof.unseen:
        yield f"  not looked at: {part}"
    yield f"  smallest change: {proof.change}"


def as_dict(
    cluster: Dump, found: Sequence[Diagnosis], proofs: Sequence[WhyPending], unread: Sequence[str]
) -> dict[str, Any]:
    """The whole report as plain data."""
    return {
        "lookedAt": {
            "nodes": len(cluster.nodes),
            "pods": len(cluster.pods),
            "objects": len(cluster.seen),
        },
        "findings": [one.finding.as_dict() for one in found],
        "pending": [proof.as_dict() for proof in proofs],
        "unread": list(unread),
    }


def page(
    cluster: Dump,
    found: Sequence[Diagnosis],
    proofs: Sequence[WhyPending],
    mask: Callable[[str], str],
) -> str:
    """One HTML page that needs no other file, host or script."""

    def part(lines: Iterable[str]) -> str:
        first, *others = (escape(mask(line)) for line in lines)
        return f"<details><summary>{first}</summary><pre>{'<br>'.join(others)}</pre></details>"

    body = [f"<h1>What is wrong</h1><p>{escape(looked_at(cluster))}</p>"]
    body += (part(full_text([one])) for one in found)
    body += ["" if found else "<p>Nothing was found.</p>", *(part(proof_text(p)) for p in proofs)]
    return document("gpufleet doctor", body)


_TOKEN = re.compile(r"[A-Za-z0-9](?:[\w.:@/-]*[A-Za-z0-9])?")
_ADDRESS = re.compile(r"\b(?:\d{1,3}[.-]){3}\d{1,3}\b|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b")
_PUBLIC = frozenset(
    {"default", "kube-system", "gpu-operator", "gpu.nvidia.com", "mig.nvidia.com", "nvidia"}
)


def masker(cluster: Dump) -> Callable[[str], str]:
    """Replacer of the names of a dump in a text."""
    known: dict[str, str] = {}
    counts = Counter[str]()
    for name, word in _names(cluster):
        if name and name not in known and name not in _PUBLIC:
            counts[word] += 1
            known[name] = f"{word}-{counts[word]}"

    def replaced(found: re.Match[str]) -> str:
        parts = [found[0]] if found[0] in known else re.split(r"([/:@=])", found[0])
        return "".join(known.get(part, part) for part in parts)

    return lambda text: _ADDRESS.sub("x.x.x.x", _TOKEN.sub(replaced, text))


def _names(cluster: Dump) -> Iterator[tuple[str, str]]:
    for one in cluster.seen:
        yield one.namespace, "namespace"
        if one.kind != "Event":
            yield one.name, one.kind.lower()
        if isinstance(one, SeenPod):
            yield from ((image, "image") for image in one.images)
            yield from ((str(c.get("name") or ""), "container") for c in one.containers)
            yield one.owner[1], "owner"


def masked_data(value: Any, mask: Callable[[str], str]) -> Any:
    """The same in every text of plain data."""
    return rewritten(value, lambda one: mask(one) if isinstance(one, str) else one)

"""What the doctor found, for a person first: the worst in ten lines; all as JSON or one page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Diagnosis
from gpufleet_policies.doctor.pending import WhyPending
from gpufleet_policies.doctor.snapshot import Dump

LINES = 10
"""Lines of the short report."""
_COLOURS = {Severity.ERROR: "#d1242f", Severity.WARNING: "#9a6700", Severity.INFO: "#57606a"}


@dataclass(frozen=True, slots=True)
class Group:
    """One cause at one or more objects."""

    first: Diagnosis
    others: tuple[str, ...]
    gpus: int

    @property
    def line(self) -> str:
        """It in one line."""
        cause = self.first.cause
        more = f" (and {len(self.others)} more)" if self.others else ""
        sure = "" if cause.sure.value == "certain" else f", {cause.sure.value}"
        return f"{cause.severity.value}: {self.first.text('message')}{more} [{cause.code}{sure}]"


def groups(found: Sequence[Diagnosis]) -> tuple[Group, ...]:
    """Diagnoses of one cause together, the worst first."""
    by_code: dict[str, list[Diagnosis]] = {}
    for one in found:
        by_code.setdefault(one.cause.code, []).append(one)
    made = [
        Group(many[0], tuple(d.found.at for d in many[1:]), sum(d.found.gpus for d in many))
        for many in by_code.values()
    ]
    ranks = list(Severity)
    return tuple(sorted(made, key=lambda one: (ranks.index(one.first.cause.severity), -one.gpus)))


def looked_at(cluster: Dump) -> str:
    """What the dump has, in words."""
    nodes = len(cluster.nodes)
    gpus = sum(sum(node.devices.values()) for node in cluster.nodes.values())
    waits = sum(pod.waits and pod.wants_gpus for pod in cluster.pods)
    return (
        f"{nodes:,} nodes that offer {gpus:,} GPUs or parts, {len(cluster.pods):,} pods, "
        f"{waits:,} of them waiting for GPUs"
    )


def short_text(cluster: Dump, found: Sequence[Diagnosis]) -> Iterator[str]:
    """At most ten lines: what was looked at, then the worst causes, each with its fix."""
    if not found:
        yield f"nothing found in {looked_at(cluster)}"
        return
    plural = "s" if len(found) > 1 else ""
    yield f"{len(found)} finding{plural} in {looked_at(cluster)}"
    made = groups(found)
    room = (LINES - 2) // 2
    for one in made[:room]:
        yield one.line
        yield f"    {one.first.text('fix')}"
    if len(made) > room:
        yield f"and {len(made) - room} more causes: --all shows them, with the evidence of each"
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
    for one in proof.nodes:
        yield f"  {one.name}: {one.first.filter}: {one.first.reason}"
    for name in proof.fits:
        yield f"  {name}: fits"
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


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%;font-size:.85rem}"
    "td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884;vertical-align:top}"
    "details{margin:.6rem 0}summary{cursor:pointer}"
)


def page(
    cluster: Dump,
    found: Sequence[Diagnosis],
    proofs: Sequence[WhyPending],
    mask: Callable[[str], str],
) -> str:
    """One HTML page that needs no other file, host or script."""

    def say(value: str) -> str:
        return escape(mask(value))

    body = [f"<h1>{say('What is wrong')}</h1>", f"<p>{say(looked_at(cluster))}</p>"]
    for one in found:
        rows = "".join(
            f"<tr><td>{say(e.object)}</td><td>{say(e.field)}</td><td>{say(e.value)}</td></tr>"
            for e in one.evidence
        )
        chain = "".join(f"<li>{say(link)}</li>" for link in one.chain)
        links = ", ".join(escape(report) for report in one.cause.reports)
        edit = one.text("declared")
        edit = f"<p>declaration: <code>{say(edit)}</code></p>" if edit else ""
        body.append(
            f"<details><summary><b style='color:{_COLOURS[one.cause.severity]}'>"
            f"{one.cause.severity.value}</b> {say(one.text('message'))} "
            f"<small>[{one.cause.code}, {one.cause.sure.value}]</small></summary>"
            f"<p>{say(one.text('fix'))}</p>{edit}<table><tr><th>object<th>field<th>value</tr>{rows}"
            f"</table><ul>{chain}</ul><small>{links}</small></details>"
        )
    if not found:
        body.append("<p>Nothing was found.</p>")
    for proof in proofs:
        rows = "".join(
            f"<tr><td>{say(n.name)}<td>{n.first.filter}<td>{say(n.first.reason)}</tr>"
            for n in proof.nodes
        )
        body.append(
            f"<details><summary>{say(proof.pod.ref)} waits: {say(proof.change)}</summary>"
            f"<table><tr><th>node<th>filter<th>reason</tr>{rows}</table></details>"
        )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>gpufleet doctor</title>"
        f"<style>{_STYLE}</style>{''.join(body)}</html>\n"
    )

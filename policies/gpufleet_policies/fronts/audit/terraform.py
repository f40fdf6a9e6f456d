"""Readings of Terraform files: the resources that they declare, as far as they are literal."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpufleet_policies.fronts.audit.reading import Reading, take
from gpufleet_policies.fronts.audit.unjudged import Unjudged
from gpufleet_policies.readers.blocks import LISTS, camel_keys
from gpufleet_policies.readers.terraform import facts_of_values, is_read
from gpufleet_policies.resolve.hcl import Block
from gpufleet_policies.resolve.terraform_files import Configuration, holds_unknown
from gpufleet_policies.resolve.tree import plain
from gpufleet_policies.resolve.written_lines import Entries, WrittenLines

_NODES = re.compile(r"node_?(?:group|pool)(?:_v\d+)?$")
"""Resources of any provider that make nodes."""

_IN_PLAN = "some of its values are only known in a plan: terraform show -json plan.out"


def with_resources(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, with the facts of the resources of Terraform files in those of their files."""
    files = {reading.name: reading.hcl for reading in readings if reading.hcl is not None}
    if not files:
        return readings
    found = Configuration(files)
    result = [
        reading
        if reading.hcl is None
        else replace(
            reading,
            facts=list(reading.facts),
            sources=list(reading.sources),
            not_judged=list(reading.not_judged),
            hcl=None,
        )
        for reading in readings
    ]
    by_name = {plain(reading.name): reading for reading in result}
    for one in found.resources():
        reading = by_name[one.file]
        lines = WrittenLines(one.block.line, _entries(one.block))
        facts = facts_of_values(one.type, dict(one.values), one.address, reading.name)
        given = take(reading, facts, lambda lines=lines: lines, reading.name)
        unread = not given and not is_read(one.type) and _NODES.search(one.type) is not None
        reading.beside += not given and not unread
        reading.documents += 1
        if unread:
            reason = f"no rule reads {one.type}: its nodes are not known"
            left = Unjudged(reading.name, one.block.line, one.address, "terraform", reason)
            reading.not_judged.append(left)
        if is_read(one.type) and holds_unknown(one.values):
            left = Unjudged(reading.name, one.block.line, one.address, "terraform", _IN_PLAN)
            reading.not_judged.append(left)
    for problem in dict.fromkeys(found.problems):
        reading = by_name[problem.file]
        left = Unjudged(reading.name, problem.line, problem.object, "terraform", problem.reason)
        reading.not_judged.append(left)
    return result


def _entries(block: Block) -> Entries:
    """Lines of a block's attributes and blocks, by their names in findings."""
    found: dict[str, Any] = {name: (line, {}) for name, line in block.lines.items()}
    for below in block.blocks:
        entry = (below.line, _entries(below))
        name = LISTS.get(below.kind, below.kind)
        if name in LISTS.values():
            _, listed = found.setdefault(name, (below.line, {}))
            listed[len(listed)] = entry
        found.setdefault(name, entry)
    return {next(iter(camel_keys({name: 0}))): entry for name, entry in found.items()}

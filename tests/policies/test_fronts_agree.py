"""One table of cases through every front: facts, CrossGuard over gRPC, files.

The verdict and the message of each are equal. Findings about the other objects are omitted: only
the validated object counts. The live API server has a separate table, in
tests/engine/test_admission.py, because it validates objects of every kind.
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from google.protobuf import struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.fronts.crossguard import Front
from gpufleet_policies.fronts.crossguard_server import AnalyzerService
from gpufleet_policies.rules.registry import PACK_RULES, by_id
from gpufleet_policies.rules.settings import read_settings
from tests.examples import part
from tests.policies.cases import CASES, Case, Thing
from tests.policies.objects import TODAY

Verdicts = list[tuple[str, str]]
"""Level and message, sorted."""

LEVELS = {analyzer_pb2.MANDATORY: "mandatory", analyzer_pb2.ADVISORY: "advisory"}


def test_every_rule_has_a_case():
    assert {rule.id for rule in PACK_RULES} <= {case.rule for case in CASES} <= set(by_id())


def by_facts(case: Case, thing: Thing) -> Verdicts:
    return sorted((f.level.value, f.lines) for f in case.findings(thing))


@contextmanager
def pack(case: Case, folder: Path) -> Iterator[Any]:
    """A pack's policies as they are served, behind a real connection."""
    (folder / "gpu-policy.yaml").write_text(yaml.safe_dump(case.settings))
    server = grpc.server(ThreadPoolExecutor(1))
    served = AnalyzerService(Front(folder, today=lambda: TODAY))
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(served, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield analyzer_pb2_grpc.AnalyzerStub(channel)
    finally:
        server.stop(0).wait()


def urn_of(thing: Thing) -> str:
    return f"urn:pulumi:dev::p::{thing.type}::{thing.name}"


def analysed(thing: Thing) -> Any:
    struct = struct_pb2.Struct()
    struct.update(thing.properties)
    return analyzer_pb2.AnalyzeRequest(
        type=thing.type, urn=urn_of(thing), name=thing.name, properties=struct
    )


def by_crossguard(case: Case, thing: Thing, folder: Path) -> Verdicts:
    with pack(case, folder) as analyzer:
        for alongside in case.alongside:
            analyzer.Analyze(analysed(alongside), timeout=120)
        alone = read(analyzer.Analyze(analysed(thing), timeout=120).diagnostics)
        whole = analyzer.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(), timeout=120)
        last = read(d for d in whole.diagnostics if d.urn == urn_of(thing))
    # A finding may have a higher level with the whole program: that level counts.
    heavier = {rule_of(message) for _, message in last}
    return sorted([one for one in alone if rule_of(one[1]) not in heavier] + last)


def read(diagnostics: Any) -> Verdicts:
    return [(LEVELS[d.enforcementLevel], d.message) for d in diagnostics]


def rule_of(message: str) -> str:
    return message[1 : message.index("]")]


KNOWS_MORE = re.compile(r" Instead: label it kueue.x-k8s.io/queue-name: .*?gang scheduler\.")
"""The finding of a single resource asks for any queue; that of a program names the queues."""


def without_names(verdicts: Verdicts) -> Verdicts:
    return [(level, KNOWS_MORE.sub("", message)) for level, message in verdicts]


def by_file(case: Case, thing: Thing, folder: Path, manifests: bool) -> Verdicts:
    """The audit of a state file, or of manifests where the object is one."""
    things = [*case.alongside, thing]
    own = [one for one in things if manifests and one.is_manifest]
    rest = [one for one in things if one not in own]
    resources = [
        {"urn": urn_of(one), "type": one.type, "custom": True, "inputs": one.properties}
        for one in rest
    ]
    state = {"version": 3, "deployment": {"resources": resources}}
    (folder / "state.json").write_text(json.dumps(state))
    if own:
        (folder / "things.yaml").write_text(yaml.safe_dump_all(one.properties for one in own))
    result = audit(find_inputs([str(folder)]), read_settings(case.settings), TODAY)
    assert result.unread == ()
    about = str(thing.facts().locator)
    return sorted((f.level.value, f.lines) for f in result.findings if str(f.locator) == about)


FIRST = list({case.rule: case for case in reversed(CASES)}.values())
"""One case of each rule."""
OTHERS = [case for case in CASES if case not in FIRST]


@pytest.mark.parametrize(
    ("case", "which"),
    [
        *((case, "bad") for case in (*FIRST, *part(OTHERS))),
        *((case, "good") for case in part(CASES)),
    ],
    ids=str,
)
def test_the_engine_is_told_what_the_facts_say(case: Case, which: str, tmp_path: Path):
    thing: Thing = getattr(case, which)
    expected = by_facts(case, thing)
    asked = by_crossguard(case, thing, tmp_path)
    assert without_names(asked) == without_names(expected)
    if which == "bad":
        assert any(f"[{case.rule}]" in message for _, message in expected)


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("which", ["good", "bad"])
def test_files_say_the_same(case: Case, which: str, tmp_path: Path):
    """With each commit: tests/policies/differential compares files with the pack."""
    thing: Thing = getattr(case, which)
    expected = by_facts(case, thing)
    for name in ("state", "manifests"):
        (tmp_path / name).mkdir()
    assert by_file(case, thing, tmp_path / "state", manifests=False) == expected
    if thing.is_manifest:
        assert by_file(case, thing, tmp_path / "manifests", manifests=True) == expected

"""`gpufleet check` against NVIDIA's own parsers, over thousands of mutated configurations.

Each disagreement belongs to one of the named classes below, with the upstream code that explains it
(docs/check-disagreements.md describes them).
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from gpufleet.contract.programs.device_plugin import RULES as PLUGIN_RULES
from gpufleet.contract.programs.device_plugin_document import parse_config
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.findings import Severity
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import validate_text
from tests.engine.nvidia_parsers import ask
from tests.property.mutated_configs import Case, cases

pytestmark = pytest.mark.sandbox

COUNT = 4000
SEED = 20261121

CLASSES: dict[str, tuple[set[str], str]] = {
    "profiles and counts are validated against the GPU": (
        {
            "mig-profile-unknown",
            "mig-layout-impossible",
            "mig-layout-nowhere",
            "mig-compute-instance-too-large",
        },
        "mig-parted pkg/types/mig_config.go AssertValidFormat: names only",
    ),
    "the GPU has no MIG": (
        {"mig-unsupported", "mig-parted-skipped"},
        "mig-parted cmd/nvidia-mig-parted/apply/mode.go ApplyMigMode",
    ),
    "a device filter matches nothing": (
        {"mig-parted-filter-dead", "mig-parted-filter-too-new"},
        "mig-parted api/spec/v1/helpers.go MatchesDeviceFilter drops the parse error",
    ),
    "a GPU of the node has no entry": (
        {"mig-parted-gpus-unmatched"},
        "mig-parted cmd/nvidia-mig-parted/assert/config.go AssertMigConfig",
    ),
    "an index is on no GPU": (
        {"mig-parted-devices-index"},
        "mig-parted api/spec/v1/helpers.go MatchesDevices",
    ),
    "two entries concern one GPU": (
        {"mig-parted-devices-overlap"},
        "mig-parted cmd/nvidia-mig-parted/apply/config.go: the later entry clears the earlier",
    ),
    "a misspelt key is silently ignored": (
        {"config-key-misspelt", "device-plugin-key-elsewhere"},
        "Go encoding/json decode.go: unknown fields are skipped",
    ),
    "a flag one level too deep is zeroed": (
        {"device-plugin-key-misplaced"},
        "sigs.k8s.io/yaml yaml.go convertToJSONableObject allocates it",
    ),
    "one key in several cases": (
        {"device-plugin-key-case-repeated"},
        "sigs.k8s.io/yaml yaml.go Unmarshal: undefined order",
    ),
    "MPS silently beats time-slicing": (
        {"device-plugin-mps-wins"},
        "k8s-device-plugin api/config/v1/sharing.go ReplicatedResources",
    ),
    "the shared resource is not on the node": (
        {"device-plugin-resource-not-offered"},
        "k8s-device-plugin internal/rm/device_map.go getIDsOfDevicesToReplicate returns nil",
    ),
    "MPS limits of the hardware": (
        {
            "device-plugin-mps-too-many-clients",
            "device-plugin-mps-unsupported",
            "device-plugin-mps-on-mig",
        },
        "k8s-device-plugin cmd/mps-control-daemon/mps/device.go assertReplicas, at start",
    ),
    "sharedDevicesAllocationPolicy came with v0.20": (
        {"device-plugin-choice-unknown", "device-plugin-wrong-type"},
        "k8s-device-plugin v0.19.0 api/config/v1/flags.go has no such field",
    ),
}
"""Class -> (our finding codes, the upstream code that explains it). Ours is the stricter side."""


def test_every_disagreement_with_nvidia_falls_into_a_named_class() -> None:
    assert len(CLASSES) <= 15
    documents = list(cases(SEED, COUNT))
    answers = ask([{"kind": c.kind, "text": c.text, "args": c.args} for c in documents])
    assert len(answers) == COUNT
    of_code = {code: name for name, (codes, _) in CLASSES.items() for code in codes}
    seen: Counter[str] = Counter()
    for case, answer in zip(documents, answers, strict=True):
        verdict, codes = _ours(case)
        if answer["verdict"] == "reject":
            assert verdict is Verdict.REJECT, (answer["error"], case)
            continue
        assert answer["verdict"] == "accept", answer
        if verdict is not Verdict.REJECT:
            continue
        unexplained = codes - set(of_code)
        assert not unexplained, (unexplained, case)
        if codes & CLASSES["sharedDevicesAllocationPolicy came with v0.20"][0]:
            assert "sharedDevicesAllocationPolicy" in case.text, case
        seen.update({of_code[code] for code in codes})
    # The mutations must reach what they are for.
    agreed = COUNT - sum(a["verdict"] == "reject" for a in answers)
    assert agreed > COUNT // 5
    assert len(seen) >= 8, seen


def _ours(case: Case) -> tuple[Verdict, set[str]]:
    # NVIDIA's program runs in exactly this environment.
    context = {**case.context, "env": case.args} if case.kind == "device-plugin" else case.context
    try:
        validated = validate_text(
            case.kind, case.text, gpu=case.gpu, select=case.select, context=context or None
        )
    except UnreadableDocumentError:
        return Verdict.REJECT, {"document-unreadable"}
    errors = {f.code for f in validated.findings if f.severity is Severity.ERROR}
    return validated.verdict, errors


def test_what_is_accepted_is_read_alike() -> None:
    documents = [c for c in cases(SEED + 1, COUNT) if c.kind == "device-plugin"]
    answers = ask([{"kind": c.kind, "text": c.text, "args": c.args} for c in documents])
    compared = 0
    for case, answer in zip(documents, answers, strict=True):
        if answer["verdict"] != "accept":
            continue
        report = CheckReport(PLUGIN_RULES)
        config = parse_config(read_go(case.text).data, (0, 19, 0), report)
        if report.rejected:
            continue
        block = config.mps or config.time_slicing
        ours = [] if block is None else [(n, r, block.rename) for n, r, _ in block.resources]
        theirs = [
            (r["name"], r["replicas"], bool(r.get("rename")))
            for r in answer["read"]["resources"] or []
        ]
        assert ours == theirs, case.text
        compared += 1
    assert compared > 300


YAML = (
    "a: 1\na: 2", "a: [yes, on, y, Y, true, no, off, n]", "a: [010, 0x10, 1_000, 1e3, .5, 0b11]",
    "a: [0o17, +1, -0x1F, 09, 12:30:45, 2001-01-01, ~, NULL]", "1: a\ntrue: b\n1.5: c\n1e30: d",
    "1000000.0: a\n0.00001: b\n16777217.0: c", "null: a", "a: {b: 1, <<: {c: 2, b: 3}}",
    "b: 1\n<<: [{b: 2}, {b: 3, c: 4}]", "a: 9223372036854775808", "a: 1e400", "a: !!float 3",
    "a: !!int x", "a: !!str 1", "a: !foo 3", "a: !!bool yes", "a: 123456789012345678901234567890",
    "a: 2001-99-99", "a: 2001-12-14t21:59:43.10-05:00", "? a\n", "- a\n- b: [c, {d: e}]", "", "# x",
    "a: |\n  x\n y", "x: *u", '{"a": "\\u00e9", "b": [1, {"c": null}]}', "a: =", "a: 0o8", "a: 0x",
    "a: -", "a: 1_0.5", "y: n", "a: !!null ~", "a: !!binary aGk=", "a: &a [*a]", '"<<": {a: 1}',
    "<<: 3", "a: .inf", "a: .nan", "a: .5_0", "x: 1\n---\ny: 2", "? [a]\n: b",
)  # fmt: skip


@pytest.mark.parametrize("text", YAML)
def test_yaml_is_read_as_nvidia_reads_it(text: str) -> None:
    answer = ask([{"kind": "yaml", "text": t} for t in YAML])[YAML.index(text)]
    try:
        ours = read_go(text).data
        json.dumps(ours, allow_nan=False)
    except (UnreadableDocumentError, ValueError):
        assert answer["verdict"] == "reject"
        return
    assert answer["verdict"] == "accept", (answer, ours)
    assert ours == answer.get("read")


def test_the_page_names_every_class() -> None:
    page = Path(__file__).parents[2] / "docs" / "check-disagreements.md"
    text = page.read_text(encoding="utf-8")
    for name, (codes, _) in CLASSES.items():
        assert name in text
        for code in codes:
            assert f"`{code}`" in text

"""`check`, `audit` and the CrossGuard pack agree on one object: rule, level and message.

All case tables of the rules run through all three. Allowed differences are listed, with the reason.
CrossGuard's wire format has a separate test, tests/policies/test_fronts_agree.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.codes import code_space
from gpufleet_policies.fronts import check, crossguard
from gpufleet_policies.fronts.audit import run
from gpufleet_policies.rules.registry import all_rules
from tests.examples import ALL as EVERYTHING
from tests.examples import sweep
from tests.on_change import FRONTS
from tests.policies.differential.fronts import Answers, Said, answers
from tests.policies.differential.samples import Sample, samples

ALL = [one for one in samples() if EVERYTHING or not one.is_mended]
RULES = ("gpufleet_policies/rules/", "tests/policies/cases/")
CONFIGURATIONS = (
    *("gpufleet_policies/configurations/", "tests/policies/configurations/"),
    *("gpufleet/contract/programs/", "gpufleet/contract/schemas/"),
)
GROUPS: dict[str, Sequence[Sample]] = {
    group: sweep(list(of_group), *FRONTS, *(RULES if group == "policies" else CONFIGURATIONS))
    for group, of_group in groupby(ALL, key=lambda one: one.group)
}
"""All samples of a group where the fronts, its rules or its samples have changed, else a part."""


@cache
def answered(sample: Sample) -> Answers:
    """Findings of all fronts for a sample: computed once."""
    with TemporaryDirectory() as folder:
        return answers(sample, Path(folder))


@dataclass(frozen=True)
class Allowed:
    """A difference that is meant."""

    rule: str
    front: str
    """The only front that reports it."""
    level: str
    reason: str


ALONE = "a resource alone: what is next to it is known only when the program is complete"
DIFFERENCES = (
    Allowed("gpu-pool-untainted", "crossguard", "advisory", f"{ALONE}; advice until then"),
    Allowed("sharing-not-fail-fast", "crossguard", "advisory", f"{ALONE}; then counted as one"),
    Allowed("mig-layout-nowhere", "crossguard", "mandatory", f"{ALONE}; then by its pools' GPU"),
    Allowed("sharing-not-fail-fast", "audit", "advisory", "several configurations of an object"),
)


def unexpected(found: Iterable[tuple[str, Said]]) -> list[str]:
    """Differences that are not listed."""
    allowed = {(one.rule, one.front, one.level) for one in DIFFERENCES}
    return [
        f"{said.rule} ({said.level}): only {front}: {said.text[:200]}"
        for front, said in found
        if (said.rule, front, said.level) not in allowed
    ]


@pytest.mark.parametrize("group", GROUPS)
def test_the_fronts_say_the_same(group: str) -> None:
    found = {str(one): unexpected(answered(one).differences) for one in GROUPS[group]}
    assert {name: differ for name, differ in found.items() if differ} == {}


def test_every_listed_difference_is_there() -> None:
    """An entry that nothing needs would hide the next one."""
    found = {
        (said.rule, front, said.level) for one in ALL for front, said in answered(one).differences
    }
    assert found == {(one.rule, one.front, one.level) for one in DIFFERENCES}


NOTHING_TO_JUDGE = "a text that is read as a kind and holds nothing of it"
BY_THE_CHART = "without a context only the values of Karpenter's chart in the same files say it"
BY_THE_OPERATOR = "operator and chart set it through the environment: a ConfigMap need not"
ONLY_NAMED = {
    "autoscaler-nothing-to-judge": NOTHING_TO_JUDGE,
    "karpenter-nothing-to-judge": NOTHING_TO_JUDGE,
    "kueue-nothing-to-judge": NOTHING_TO_JUDGE,
    "object-nothing-to-judge": NOTHING_TO_JUDGE,
    "object-version-unknown": "a remark; recognised files list it as not validated",
    "karpenter-overlay-gate-off": BY_THE_CHART,
    "device-plugin-mps-root-missing": BY_THE_OPERATOR,
    "device-plugin-mps-root-elsewhere": BY_THE_OPERATOR,
    "mig-parted-config-not-selected": "a remark; recognised files have a finding for each config",
}
"""Findings that only `--as` reports for a file of a recognised kind."""
ONLY_RECOGNISED = {
    "config-key-unknown": "each document of a file of values is judged",
    "dra-chart-gpus-override": "each document of a file of values is judged",
}


@pytest.mark.parametrize("group", [one for one in GROUPS if one not in ("policies", "others")])
def test_a_named_kind_finds_what_a_recognised_one_does(group: str) -> None:
    allowed = {
        *(("--as", code) for code in ONLY_NAMED),
        ("--as", "dra-no-config"),  # a ResourceSlice by itself is read as an object
        *(("recognised", code) for code in ONLY_RECOGNISED),
    }
    found = {str(one): set(answered(one).named) - allowed for one in GROUPS[group]}
    assert {name: differ for name, differ in found.items() if differ} == {}


NO_DOCUMENT = "a text that is not a mapping: nothing says that it is of this kind"
OF_THE_CALL = "about the options of the command"
NEEDS_A_PLACE = "only `--context`, `--gpu` or `--select` says it: what runs there, on which GPU"
OF_A_TEXT = "about a text as it is written; a resource has none"

SILENT_IN_FILES = {
    **{rule: reason for rule, reason in ONLY_NAMED.items() if "remark" not in reason},
    "configmap-key-absent": NOTHING_TO_JUDGE,
    "configmap-value-invalid": "a ConfigMap is an object itself: config-wrong-type",
    "document-unreadable": "the audit lists the file as not read",
    **dict.fromkeys(("context-key-unknown", "context-value-invalid", "gpu-unknown"), OF_THE_CALL),
    **dict.fromkeys(
        (
            "chart-values-no-mapping",
            "device-plugin-no-mapping",
            "device-plugin-values-no-mapping",
            "dra-values-no-mapping",
            "gpu-operator-no-mapping",
            "mig-parted-no-mapping",
            "network-operator-no-mapping",
        ),
        NO_DOCUMENT,
    ),
    **dict.fromkeys(
        (
            "device-plugin-chart-default-namespace",
            "device-plugin-env-wins",
            "device-plugin-key-absent",
            "device-plugin-mps-on-mig",
            "device-plugin-mps-one-request",
            "device-plugin-mps-too-old",
            "device-plugin-mps-unsupported",
            "dra-chart-default-namespace",
            "dra-chart-kubernetes",
            "dra-class-off",
            "dra-consumable-shares-mps",
            "dra-domain-immutable",
            "dra-domain-nodes-required",
            "dra-field-too-new",
            "dra-gate-missing",
            "dra-kubernetes-gate-off",
            "dra-plugin-too",
            "dra-vfio-webhook",
            "gpu-operator-dra-too",
            "gpu-operator-driver-immutable",
            "gpu-operator-driver-in-image",
            "gpu-operator-nfd-twice",
            "gpu-operator-no-dra",
            "kueue-version-not-served",
            "mig-parted-compute-instance-mixed",
            "mig-parted-config-absent",
            "mig-parted-filter-too-new",
            "mig-parted-reset-needed",
            "mig-parted-single-profiles",
            "mig-placement-unknown",
            "network-operator-kubernetes",
            "network-operator-nfd-twice",
            "object-field-too-new",
        ),
        NEEDS_A_PLACE,
    ),
}
"""Rules that the audit never reports about these samples, and why."""
SILENT = {
    "check": {},
    "audit": SILENT_IN_FILES,
    "crossguard": {
        **SILENT_IN_FILES,
        **dict.fromkeys(("dra-key-repeated", "dra-second-document", "dra-no-config"), OF_A_TEXT),
    },
}
"""Front -> rules that it never reports about these samples, and why."""

REMARKS = {c for c, found in code_space().items() if found.verdict is Verdict.ACCEPT}
"""Rules that `check` shows as remarks; they are off elsewhere."""


@pytest.mark.parametrize("front", ["check", "audit", "crossguard"])
def test_every_rule_is_reported_by_every_front(front: str) -> None:
    """So that no rule is equal in all fronts because none of them runs it."""
    reported = {rule for one in ALL for by, rule in answered(one).fired if by == front}
    silent = {rule.id for rule in all_rules()} - reported - (set() if front == "check" else REMARKS)
    assert silent == set(SILENT[front])


def _without(rule: str, of: str) -> Callable[..., Any]:
    """A function of a front that forgets a rule."""
    real: Any = {"check": check.judged, "audit": run.validate, "crossguard": crossguard.run_rules}[
        of
    ]

    def forgetful(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        if isinstance(result, list):
            return [one for one in result if one.code != rule]
        files = tuple(
            _replaced(file, findings=tuple(f for f in file.findings if f.code != rule))
            for file in result.files
        )
        return _replaced(result, files=files)

    return forgetful


def _replaced(value: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(value, **changes)


@pytest.mark.parametrize(
    ("front", "module", "name"),
    [
        ("check", check, "judged"),
        ("audit", run, "validate"),
        ("crossguard", crossguard, "run_rules"),
    ],
)
@pytest.mark.parametrize(
    ("rule", "group"),
    [
        ("gpu-idle-command", "policies"),
        ("device-plugin-replicas-invalid", "device-plugin"),
        ("kueue-quota-order", "kueue"),
    ],
)
def test_a_rule_that_one_front_skips_is_noticed(
    front: str,
    module: Any,
    name: str,
    rule: str,
    group: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = [one for one in ALL if one.group == group and rule in one.name]
    assert chosen
    monkeypatch.setattr(module, name, _without(rule, front))
    found = [line for one in chosen for line in unexpected(answers(one, tmp_path).differences)]
    assert found
    assert all(line.startswith(rule) for line in found)

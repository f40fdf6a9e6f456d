"""`check --as KIND` of a text of another kind or program ends with 2, for any kind.

The texts are those of the vendors' own examples; the first line of each names its kind.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufleet.cli.output import UnreadableInputError
from gpufleet_policies.commands.audit import command as audit
from gpufleet_policies.commands.check import command as check
from gpufleet_policies.configurations.kinds import KINDS
from tests.reading import read_yaml

TEXTS: dict[str, str] = read_yaml(Path(__file__).with_name("kinds_of_others.yaml"))
OBJECTS = (
    "karpenter",
    "autoscaler",
    "kueue",
    "kubernetes-object",
    "pod",
    "secret",
    "chart-of-another-program",
)
"""Texts that are one object of a cluster, which the kind `kubernetes-object` is about."""


def status(kind: str, text: str, command: object = check) -> int:
    result = CliRunner().invoke(command, ["--as", kind, "-"], input=text)  # type: ignore[arg-type]
    # The program ends with 2 where this is raised.
    return 2 if isinstance(result.exception, UnreadableInputError) else result.exit_code


def test_there_is_a_text_of_each_kind() -> None:
    assert set(KINDS) < set(TEXTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_of_another_kind_ends_with_2(kind: str) -> None:
    own = {kind, *(OBJECTS if kind == "kubernetes-object" else ())}
    # A ConfigMap is opened: what is inside is of the kind, or wrong.
    others = set(TEXTS) - own - {"kubernetes-object"}
    assert {name: status(kind, TEXTS[name]) for name in own} == dict.fromkeys(own, 0)
    assert {name: status(kind, TEXTS[name]) for name in others} == dict.fromkeys(others, 2)


@pytest.mark.parametrize("kind", ["mig-parted", "dra-config", "gpu-operator-values", "kueue"])
def test_the_audit_says_the_same(kind: str) -> None:
    assert status(kind, TEXTS["other-program"], audit) == 2
    assert status(kind, TEXTS["chart-of-another-program"], audit) == 2
    assert status(kind, TEXTS[kind], audit) == 0


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("mig-parted", "{version: v1, mig-configs: {a: [{devices: all, mig-enabld: true}]}}\n"),
        ("dra-config", "sharing: {strategy: MPS}\n"),
        (
            "dra-config",
            "{apiVersion: resource.k8s.io/v1, kind: ResourceClam, metadata: {name: a}}\n",
        ),
        ("gpu-operator-values", "{mig: {strategy: mixd}, nfd: {enabled: false}}\n"),
    ],
)
def test_a_text_of_the_kind_with_a_mistake_is_refused_with_1(kind: str, text: str) -> None:
    assert status(kind, text) == 1

"""The kind of a file, by its name or by its content."""

from pathlib import Path

import pytest

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.nvidia import MigLayouts, NvidiaConfig, OperatorChoices, SharingConfig
from gpufleet.cluster.queues import ClusterQueue, KueueConfiguration
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.raw_objects import ReferencedObject
from gpufleet_policies.wrappers.judged import NotJudged
from tests.policies.audit.test_wrappers import audit, write
from tests.policies.cases.pools import KARPENTER
from tests.policies.objects import summary


def test_values_files_are_recognised_by_name_or_by_their_keys():
    values = {"mig": {"strategy": "mixed"}, "dcgmExporter": {"enabled": False}}
    for document, path in (
        (values, "charts/gpu-operator/values.yaml"),
        ({**values, "driver": {}}, "x.yaml"),
    ):
        found = facts_of_document(document, path)
        assert {type(fact).__name__ for fact in found} >= {
            "Program",
            "NvidiaConfig",
            "OperatorChoices",
        }
        choices = next(fact for fact in found if isinstance(fact, OperatorChoices))
        assert choices.dcgm_exporter.value is False
    (unknown,) = facts_of_document({"image": {"tag": "1"}}, "charts/web/values.yaml")
    assert isinstance(unknown, NotJudged)
    assert unknown.what == "chart"
    assert facts_of_document({"driver": "postgres"}, "config.yaml") == ()


def test_device_plugin_values_hold_configurations():
    text = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {name: gpu, replicas: 4}\n"
    found = facts_of_document(
        {"migStrategy": "none", "config": {"map": {"shared": text}}},
        "nvidia-device-plugin-values.yaml",
    )
    sharing = next(fact for fact in found if isinstance(fact, SharingConfig))
    assert sharing.key == "shared"
    assert sharing.resources[0].name == "nvidia.com/gpu"
    assert any(isinstance(f, NvidiaConfig) and f.kind == "device-plugin" for f in found)


def test_bare_configurations_are_recognised():
    parted = {"version": "v1", "mig-configs": {"a": [{"devices": "all", "mig-enabled": False}]}}
    found = facts_of_document(parted, "mig.yaml")
    assert isinstance(found[0], NvidiaConfig)
    assert isinstance(found[1], MigLayouts)
    kueue = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config"},
        "data": {"controller_manager_config.yaml": "waitForPodsReady:\n  enable: false\n"},
    }
    configuration, *referenced = sorted(
        facts_of_document(kueue), key=lambda fact: type(fact).__name__
    )
    # For rules about other objects: the ConfigMap, and the configuration in it.
    assert [type(one) for one in referenced] == [ReferencedObject, ReferencedObject]
    assert isinstance(configuration, KueueConfiguration)


def test_lists_and_dumps_are_opened():
    dump = {"apiVersion": "v1", "kind": "List", "items": [KARPENTER, {"kind": "x"}, None]}
    found = facts_of_document(dump)
    types = ["NodePool", "RawObject", "NvidiaConfig"]  # the object itself is for rules about pairs
    assert [type(fact).__name__ for fact in found] == types
    assert found[-1].kind == "karpenter"


def test_a_declaration_is_the_fleet_it_compiles_to():
    (found,) = facts_of_document(summary(), "compiled.json")
    assert isinstance(found, FleetFacts)
    assert found.locator.file == "compiled.json"


def test_older_versions_of_kueue_are_read_too():
    queue = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "q"},
        "spec": {"cohort": "all", "resourceGroups": []},
    }
    found, *_ = facts_of_document(queue)
    assert isinstance(found, ClusterQueue)
    assert found.cohort.value == "all"


@pytest.mark.parametrize(
    "text", ["integrations: [a", "kind: Configuration\n\tintegrations: x", "a"]
)
def test_a_configuration_of_kueue_that_is_not_yaml_is_named_as_not_validated(text: str):
    document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config"},
        "data": {"controller_manager_config.yaml": text},
    }
    (unread,) = [one for one in facts_of_document(document) if isinstance(one, NotJudged)]
    assert unread.reason == "unreadable Kueue configuration"


CONFIGURATION = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {timeout: TIMEOUT, blockAdmission: true}
integrations: {frameworks: FRAMEWORKS}
"""
IN_CHART = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: kueue, namespace: kueue-system}
spec:
  chart: {spec: {chart: kueue, version: 0.19.2}}
  values:
    managerConfig:
      controllerManagerConfigYaml: |
        TEXT
"""
IN_CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data:
  controller_manager_config.yaml: |
    TEXT
"""


@pytest.mark.parametrize("holder", ["TEXT\n", IN_CHART, IN_CONFIG_MAP])
def test_a_configuration_of_kueue_is_validated_by_the_types_of_its_manager(
    holder: str, tmp_path: Path
):
    """kueue v0.19.2 apis/config/v1beta2: metav1.Duration, []string."""
    where = holder.splitlines()[-1].partition("TEXT")[0]
    for timeout, frameworks, found in (
        ("5m", "[batch/job]", []),
        ("300", "batch/job", ["config-wrong-type"] * 2),
        ("5 min", "[batch/job]", ["config-value-invalid"]),
    ):
        text = CONFIGURATION.replace("TIMEOUT", timeout).replace("FRAMEWORKS", frameworks)
        write(tmp_path, {"a.yaml": holder.replace("TEXT", text.replace("\n", "\n" + where))})
        assert [one["code"] for one in audit(tmp_path)["findings"]] == found

"""Files that upstream ships are accepted: default configs on every GPU, values of the charts.

They are read from a folder of reference files next to the repository, where there is one.
"""

from pathlib import Path

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster.site import Site
from gpufleet.contract.programs import mig_parted
from gpufleet.documents.reading import read_go
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import unwrapped, validate_text
from tests.reading import yaml_data

CHARTS = Path(__file__).parents[4] / "shared" / "reference" / "charts"
pytestmark = pytest.mark.skipif(not CHARTS.is_dir(), reason=f"no reference files in {CHARTS}")


def test_every_profile_has_its_default_config() -> None:
    file = CHARTS / "gpu-operator-v26.7.0.default-mig-parted-config.configmap.yaml"
    text = file.read_text(encoding="utf-8")
    configs = yaml_data(yaml_data(text)["data"]["config.yaml"])["mig-configs"]
    assert len(configs) == 81
    ((_, read),), _ = unwrapped("mig-parted", read_go(text), None)
    for gpu in load().gpus.values():
        if gpu.mig is None:
            continue
        accepted = {
            name
            for name in configs
            if mig_parted.validate(read, Site(gpu=gpu, gpus_per_node=8, select=name)).verdict
            is Verdict.ACCEPT
        }
        wanted = {f"all-{profile.label}" for profile in gpu.mig.profiles.values()}
        wanted |= {"all-disabled", "all-enabled", "all-balanced"}
        assert wanted <= accepted, (gpu.key, wanted - accepted)
        # A config for other profiles is refused: it would end as `failed` on the node.
        assert len(accepted) < 20


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("gpu-operator-values", "gpu-operator-v26.7.0.values.yaml"),
        ("network-operator-values", "network-operator-26.4.1.values.yaml"),
        ("device-plugin-values", "nvidia-device-plugin-0.20.0.values.yaml"),
        ("dcgm-exporter-values", "dcgm-exporter-4.8.2.values.yaml"),
        ("keda-values", "keda-2.20.2.values.yaml"),
        ("kueue-values", "kueue-0.19.2.values.yaml"),
    ],
)
def test_values_of_the_charts_are_accepted(kind: str, name: str) -> None:
    validated = validate_text(kind, (CHARTS / name).read_text(encoding="utf-8"))
    assert validated.verdict is Verdict.ACCEPT
    assert not validated.findings


@pytest.mark.parametrize(
    ("kind", "schemas"),
    [
        ("rdma-shared-config", {"rdma_shared_device_plugin": ""}),
        ("sriov-config", {"sriov_network_device_plugin": ""}),
    ],
)
def test_what_is_accepted_passes_the_webhook_schema(kind: str, schemas: dict[str, str]) -> None:
    import json

    import jsonschema

    from tests.policies.configurations.case_rows import FINE
    from tests.policies.configurations.rule_cases import CASES

    (name,) = schemas
    path = CHARTS / f"network-operator-26.4.1.webhook-schema.{name}.json"
    schema = jsonschema.Draft7Validator(json.loads(path.read_text(encoding="utf-8")))
    texts = [FINE[kind], *(text for _, broken, fine, _ in CASES[kind] for text in (broken, fine))]
    compared = 0
    for text in texts:
        if text is None:
            continue
        try:
            data = json.loads(text)
        except ValueError:
            continue
        compared += 1
        if not schema.is_valid(data):
            assert validate_text(kind, text).verdict is Verdict.REJECT, text
    assert compared > 10

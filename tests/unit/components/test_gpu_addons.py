from pathlib import Path
from typing import Any

import pulumi
import pytest

from gpufleet import GpuAddons
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.reading import yaml_data

POOLS: list[Any] = [
    {"name": "whole", "gpu": "L4", "nodes": {"min": 0, "max": 1}},
    {
        "name": "notebooks",
        "instance_types": ["p4de.24xlarge"],
        "nodes": {"min": 0, "max": 1},
        "sharing": {"mig": {"layouts": [{"gpus": 4, "devices": {"1g.10gb": 7}}]}},
    },
]
RELEASE = "kubernetes:helm.sh/v3:Release"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


def arguments(**changes: Any) -> Any:
    return {"catalogue": "2026.11", "platform": "sandbox", "pools": POOLS, **changes}


def test_the_operator_reads_config_maps_that_exist_before_it(run: Any) -> None:
    recording = run(lambda: GpuAddons("addons", arguments()))
    release = recording.one(RELEASE)
    plugin, mig = recording.all(CONFIG_MAP)
    values = release.inputs["values"]
    assert values["migManager"]["config"]["name"] == mig.inputs["metadata"]["name"]
    assert values["devicePlugin"]["config"]["name"] == plugin.inputs["metadata"]["name"]
    assert {"addons-device-plugin", "addons-mig-parted", "addons-namespace"} <= set(
        release.depends_on
    )
    layouts = yaml_data(mig.inputs["data"]["config.yaml"])["mig-configs"]
    assert "all-disabled" in layouts
    assert any(name.startswith("notebooks-") for name in layouts)
    assert "default" in plugin.inputs["data"]


def test_the_namespace_admits_privileged_operands(run: Any) -> None:
    recording = run(lambda: GpuAddons("addons", arguments()))
    metadata = recording.one("kubernetes:core/v1:Namespace").inputs["metadata"]
    assert metadata == {
        "name": "gpu-operator",
        "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
        "annotations": {"gpufleet.dev/owner": "project/stack/addons"},
    }


def test_config_maps_change_their_name_with_their_content_only(run: Any) -> None:
    def names(pools: list[Any]) -> list[str]:
        recording = run(lambda: GpuAddons("addons", arguments(pools=pools)))
        return [r.inputs["metadata"]["name"] for r in recording.all(CONFIG_MAP)]

    other = [POOLS[0], {**POOLS[1], "sharing": {"mig": {"layouts": [{"devices": {"7g.80gb": 1}}]}}}]
    plugin, mig = names(POOLS)
    assert names(POOLS) == [plugin, mig]
    assert names(other)[0] == plugin
    assert names(other)[1] != mig
    assert all(len(name) <= 63 for name in (plugin, mig))


def test_the_sandbox_takes_its_own_chart_at_the_pinned_version(run: Any) -> None:
    inputs = run(lambda: GpuAddons("addons", arguments())).one(RELEASE).inputs
    assert Path(inputs["chart"]).name == "gpu-operator"
    assert (Path(inputs["chart"]) / "Chart.yaml").is_file()
    assert inputs["version"] == "v26.7.0"
    assert "repositoryOpts" not in inputs


@pytest.mark.parametrize(
    ("source", "chart", "repository"),
    [
        (
            {"repository": "https://charts.example.com"},
            "gpu-operator",
            "https://charts.example.com",
        ),
        ({"oci": "oci://r.example.com/charts/"}, "oci://r.example.com/charts/gpu-operator", None),
        ({"folder": "/srv/charts"}, "/srv/charts/gpu-operator", None),
    ],
)
def test_one_setting_says_where_charts_come_from(
    run: Any, source: Any, chart: str, repository: str | None
) -> None:
    addons = {"charts": {"source": source}}
    inputs = run(lambda: GpuAddons("addons", arguments(addons=addons))).one(RELEASE).inputs
    assert inputs["chart"] == chart
    assert inputs.get("repositoryOpts", {}).get("repo") == repository


def test_overrides_and_raw_values_win_in_this_order(run: Any) -> None:
    operator = {
        "version": "v26.3.3",
        "dcgm_exporter": {"enabled": False},
        "mig_manager": {"env": {"WITH_REBOOT": "true"}},
        "image_pull_secret": "ngc",
        "values": {"toolkit": {"installDir": "/opt"}, "dcgmExporter": {"hostPID": True}},
    }
    addons = {"gpu_operator": operator}
    inputs = run(lambda: GpuAddons("addons", arguments(addons=addons))).one(RELEASE).inputs
    values = inputs["values"]
    assert inputs["version"] == "v26.3.3"
    assert values["dcgmExporter"] == {
        "enabled": False,
        "hostPID": True,
        "imagePullSecrets": ["ngc"],
    }
    assert values["migManager"]["env"] == [{"name": "WITH_REBOOT", "value": "true"}]
    assert values["toolkit"]["installDir"] == "/opt"
    assert values["driver"]["imagePullSecrets"] == ["ngc"]


@pytest.mark.parametrize(
    "operator", [{"ownership": "existing"}, {"ownership": "gitops"}, {"enabled": False}]
)
def test_an_operator_of_somebody_else_creates_nothing(run: Any, operator: Any) -> None:
    seen: list[Any] = []

    def program() -> Any:
        made = GpuAddons("addons", arguments(addons={"gpu_operator": operator}))
        return pulumi.Output.all(made.namespace, made.mig_config).apply(seen.append)

    recording = run(program)
    assert [r.type for r in recording.resources if r.parent] == []
    assert seen == [[None, None]]


def test_every_problem_is_named_before_anything_is_registered(run: Any) -> None:
    def program() -> None:
        pools: Any = [{"name": "a", "gpu": "L4", "nodes": {"mni": 0, "max": 1}}]
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuAddons("addons", arguments(pools=pools, plattform="eks"))
        text = str(caught.value)
        assert text.startswith('GpuAddons "addons": 3 errors\n')
        assert "plattform: `plattform` is not an argument here" in text
        assert "pools[0].nodes.mni: `mni` is not an argument here" in text
        assert "pools[0].nodes.min: this argument is needed and missing" in text

    assert run(program).resources == []


def test_a_layout_that_does_not_fit_is_refused(run: Any) -> None:
    layouts = [{"devices": {"3g.40gb": 3}}]
    pools: Any = [{**POOLS[1], "sharing": {"mig": {"layouts": layouts}}}]

    def program() -> None:
        with pytest.raises(InvalidArgumentsError, match=r"pools\[0\]\.sharing\.mig\.layouts\[0\]"):
            GpuAddons("addons", arguments(pools=pools))

    assert run(program).resources == []


def test_the_network_operator_comes_first_and_brings_discovery(run: Any) -> None:
    addons = {"network_operator": {"enabled": True, "rdma": [{"name": "rail_a"}]}}
    recording = run(lambda: GpuAddons("addons", arguments(addons=addons)))
    network, operator = (
        recording.one(RELEASE, f"addons-{name}-operator-release") for name in ("network", "gpu")
    )
    assert operator.inputs["values"]["nfd"] == {"enabled": False}
    assert network.inputs["values"]["nfd"]["enabled"] is True
    # What a component waits for, its children wait for.
    first = recording.one("gpufleet:index:GpuOperator").depends_on
    assert {"addons-network-operator-release", "addons-network-operator-policy"} <= set(first)
    assert Path(network.inputs["chart"]).name == "network-operator"


def test_the_plugins_own_chart_takes_the_operators_place(run: Any) -> None:
    addons = {"device_plugin": {"enabled": True}}
    recording = run(lambda: GpuAddons("addons", arguments(pools=POOLS[:1], addons=addons)))
    release = recording.one(RELEASE)
    assert release.name == "addons-plugin-release"
    (config,) = recording.all(CONFIG_MAP)
    assert release.inputs["values"]["config"]["name"] == config.inputs["metadata"]["name"]
    both = run(lambda: GpuAddons("addons", arguments(addons=addons)))
    operator = both.one(RELEASE, "addons-gpu-operator-release").inputs["values"]
    assert operator["devicePlugin"]["enabled"] is False
    assert operator["migManager"]["enabled"] is True


def test_two_plugins_are_refused_before_anything_is_registered(run: Any) -> None:
    addons: Any = {
        "device_plugin": {"enabled": True},
        "gpu_operator": {"device_plugin": {"enabled": True}},
    }

    def program() -> None:
        with pytest.raises(InvalidArgumentsError, match="two-advertisers"):
            GpuAddons("addons", arguments(addons=addons))

    assert run(program).resources == []


def test_claims_bring_the_dra_driver_after_the_operator(run: Any) -> None:
    pools: Any = [
        *POOLS,
        {
            "name": "claimed",
            "instance_types": ["p5.48xlarge"],
            "nodes": {"min": 0, "max": 1},
            "sharing": {"dra": {}},
        },
    ]
    recording = run(lambda: GpuAddons("addons", arguments(pools=pools)))
    driver = recording.one(RELEASE, "addons-dra-driver-release")
    assert driver.inputs["name"] == "dra-driver-nvidia-gpu"
    first = recording.one("gpufleet:index:DraDriver").depends_on
    assert "addons-gpu-operator-release" in first


def test_every_configuration_that_nodes_may_name_is_told(run: Any) -> None:
    seen: list[Any] = []

    def program() -> Any:
        return GpuAddons("addons", arguments()).configurations.apply(seen.append)

    recording = run(program)
    plugin, mig = recording.all(CONFIG_MAP)
    layouts = yaml_data(mig.inputs["data"]["config.yaml"])["mig-configs"]
    assert set(seen[0]) == {*layouts, *plugin.inputs["data"]}

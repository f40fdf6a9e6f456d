"""The simulator chart: upstream's values, a schema that refuses others, the rules GO-1 to GO-7."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reading import yaml_documents
from tests.unit.sandbox.simulator_chart import (
    CHARTS,
    Values,
    laid_over,
    leaves,
    load,
    template,
    upstream,
    violations,
)

NAME = "gpu-operator"
CHART = CHARTS / NAME


def problems(values: Values) -> list[str]:
    """Result of the schema for values merged over the defaults, as Helm does."""
    return violations(NAME, laid_over(load(CHART / "values.yaml"), values))


def test_name_and_version_are_upstreams() -> None:
    chart = load(CHART / "Chart.yaml")
    assert (chart["name"], chart["version"], chart["appVersion"]) == (
        "gpu-operator",
        "v26.7.0",
        "v26.7.0",
    )


def test_defaults_pass_their_own_schema() -> None:
    assert problems({}) == []


@pytest.mark.parametrize(
    "values",
    [
        {"migManager": {"env": [{"name": "WITH_REBOOT", "value": "true"}]}},
        {"devicePlugin": {"config": {"create": True, "name": "p", "data": {"a": "version: v1"}}}},
        {"dcgmExporter": {"config": {"name": "metrics"}}},
        {"driver": {"upgradePolicy": {"maxUnavailable": 2}}},
        {"daemonsets": {"tolerations": [{"operator": "Exists"}]}},
        {"operator": {"metrics": {"serviceMonitor": {"interval": "15s"}}}},
        {"global": {"anything": 1}},
        {"node-feature-discovery": {"worker": {"config": {"core": {"sleepInterval": "30s"}}}}},
    ],
)
def test_documented_values_are_accepted(values: Values) -> None:
    assert problems(values) == []


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"migmanager": {}}, "migmanager"),
        ({"mig": {"stategy": "mixed"}}, "stategy"),
        ({"devicePlugin": {"config": {"map": {}}}}, "map"),
        ({"driver": {"useOpenKernelModules": True}}, "useOpenKernelModules"),
        ({"driver": {"upgradePolicy": {"podDeletion": {}}}}, "podDeletion"),
        ({"migManager": {"env": [{"name": "A", "valu": "b"}]}}, "valu"),
        ({"migManager": {"env": [{"name": "WITH_REBOOT", "value": True}]}}, "True"),
        ({"toolkit": {"enabled": "true"}}, "'true' is not of type 'boolean'"),
    ],
)
def test_others_are_refused(values: Values, key: str) -> None:
    assert any(key in problem for problem in problems(values)), problems(values)


def test_values_are_upstreams() -> None:
    ours, theirs = load(CHART / "values.yaml"), upstream(NAME, "v26.7.0")
    assert problems(theirs) == []
    mine, yours = dict(leaves(ours)), dict(leaves(theirs))
    # Keys upstream only documents in comments, with what leaving them out means.
    documented = {
        "hostPaths.kubeletRootDir": "",
        "operator.env": [],
        "operator.metrics": {},
        "operator.version": "",
        "validator.version": "",
        "nodeStatusExporter.version": "",
        "dcgmExporter.config": {},
        "dcgmExporter.hpcJobMapping": {},
        "dcgmExporter.podLabelAllowlistRegex": [],
        "driver.args": [],
    }
    differing = {
        path: (mine.get(path), yours.get(path))
        for path in mine.keys() | yours.keys()
        if mine.get(path, "absent") != yours.get(path, "absent")
    }
    unexplained = {
        path: pair
        for path, pair in differing.items()
        if not (path in documented and pair[0] == documented[path])
        and not (path.endswith(".imagePullSecrets") and pair == ([], None))
    }
    assert unexplained == {}


def render(tmp_path: Path, values: Values) -> subprocess.CompletedProcess[str]:
    return template(NAME, tmp_path, values, "-n", "gpu-operator")


GOOD_PLUGIN = {"create": True, "name": "p", "data": {"a": "version: v1\nflags: {}\n"}}


@pytest.mark.parametrize(
    ("rule", "values", "message"),
    [
        ("GO-1", {"gpuCluster": {"deployCR": True}}, "a cluster has one of the two"),
        (
            "GO-2",
            {"gpuCluster": {"deployCR": True}, "clusterPolicy": {"deployCR": False}},
            "needs driver.nvidiaDriverCRD.enabled=true",
        ),
        ("GO-3", {"cdi": {"nriPluginEnabled": True, "enabled": False}}, "needs cdi.enabled=true"),
        (
            "GO-4",
            {"cdi": {"nriPluginEnabled": True}, "toolkit": {"enabled": False}},
            "needs toolkit.enabled=true",
        ),
        ("GO-5", {"devicePlugin": {"config": {"create": True}}}, "needs devicePlugin.config.data"),
        (
            "GO-5",
            {"devicePlugin": {"config": {**GOOD_PLUGIN, "name": ""}}},
            "needs devicePlugin.config.name",
        ),
        (
            "GO-6",
            {
                "gpuCluster": {"deployCR": True},
                "clusterPolicy": {"deployCR": False},
                "driver": {"enabled": False},
            },
            "needs the API resource.k8s.io/v1 DeviceClass",
        ),
        ("schema", {"mig": {"stategy": "mixed"}}, "stategy"),
    ],
)
def test_what_upstream_refuses_is_refused(
    tmp_path: Path, rule: str, values: Values, message: str
) -> None:
    done = render(tmp_path, values)
    assert done.returncode != 0, rule
    assert message in done.stderr


def test_values_reach_the_cluster_policy_and_the_configmaps(tmp_path: Path) -> None:
    layouts = "version: v1\nmig-configs: {}\n"
    done = render(
        tmp_path,
        {
            "mig": {"strategy": "mixed"},
            "devicePlugin": {"config": {**GOOD_PLUGIN, "default": "a"}},
            "migManager": {
                "config": {"create": True, "name": "m", "data": {"config.yaml": layouts}},
                "env": [{"name": "WITH_REBOOT", "value": "true"}],
            },
        },
    )
    assert done.returncode == 0, done.stderr
    documents = [item for item in yaml_documents(done.stdout) if item]
    maps = {d["metadata"]["name"]: d["data"] for d in documents if d["kind"] == "ConfigMap"}
    assert maps == {"p": GOOD_PLUGIN["data"], "m": {"config.yaml": layouts}}
    (policy,) = [d for d in documents if d["kind"] == "ClusterPolicy"]
    spec = policy["spec"]
    assert spec["mig"] == {"strategy": "mixed"}
    assert spec["devicePlugin"]["config"] == {"name": "p", "default": "a"}
    assert spec["migManager"]["config"] == {"name": "m", "default": "all-disabled"}
    assert spec["migManager"]["env"] == [{"name": "WITH_REBOOT", "value": "true"}]
    assert "gpuPodDeletion" not in spec["driver"]["upgradePolicy"]
    assert spec["driver"]["upgradePolicy"]["podDeletion"]["timeoutSeconds"] == 300
    assert {d["metadata"]["labels"]["app.kubernetes.io/name"] for d in documents} >= {
        "gpu-operator",
        "node-feature-discovery",
    }


def test_go7_mig_config_without_data_makes_no_configmap(tmp_path: Path) -> None:
    done = render(tmp_path, {"migManager": {"config": {"create": True, "name": "m"}}})
    assert done.returncode == 0, done.stderr
    assert "kind: ConfigMap" not in done.stdout


def test_nfd_can_be_left_to_another_chart(tmp_path: Path) -> None:
    done = render(tmp_path, {"nfd": {"enabled": False}})
    assert "node-feature-discovery" not in done.stdout


def test_every_rendered_field_is_in_the_definition(tmp_path: Path) -> None:
    done = render(tmp_path, {"kataManager": {"enabled": True}})
    (policy,) = [d for d in yaml_documents(done.stdout) if d and d["kind"] == "ClusterPolicy"]
    definition = load(CHART.parents[1] / "crds/nvidia.com_clusterpolicies.yaml")
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert list(unknown(policy["spec"], schema["properties"]["spec"], "spec")) == []


def unknown(value: Any, schema: Values, path: str) -> Iterator[str]:
    if isinstance(value, dict) and "properties" in schema:
        for key, item in value.items():
            if key not in schema["properties"]:
                yield f"{path}.{key}"
            else:
                yield from unknown(item, schema["properties"][key], f"{path}.{key}")
    for item in value if isinstance(value, list) else []:
        yield from unknown(item, schema["items"], f"{path}[]")

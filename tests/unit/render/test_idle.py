"""Objects of notebooks that go to zero: legal for KEDA, one for each that is not exempt."""

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet.render.idle import idle_objects
from tests.reading import yaml_data, yaml_documents
from tests.unit.fleet.test_idle_rules import URL, spec
from tests.unit.render.upstream_definitions import assert_accepted


def test_one_object_for_each_notebook_that_is_not_exempt() -> None:
    fleet = compile_data(spec({"exempt": ["bob"]})).fleet
    assert fleet is not None
    (alice,) = idle_objects(fleet)
    assert_accepted("keda.sh_scaledobjects.yaml", alice)
    assert alice["metadata"]["name"] == "alice"
    assert alice["spec"]["scaleTargetRef"]["kind"] == "StatefulSet"
    assert (alice["spec"]["minReplicaCount"], alice["spec"]["maxReplicaCount"]) == (0, 1)
    # Without a fallback an error changes nothing.
    assert "fallback" not in alice["spec"]
    (trigger,) = alice["spec"]["triggers"]
    assert trigger["metadata"]["serverAddress"] == URL
    assert trigger["metadata"]["ignoreNullValues"] == "false"
    assert 'pod=~"alice-[0-9]+"' in trigger["metadata"]["query"]
    assert "[30m:1m]" in trigger["metadata"]["query"]


def test_a_server_that_wants_a_token() -> None:
    fleet = compile_data(spec({"authentication": "thanos"})).fleet
    assert fleet is not None
    for one in idle_objects(fleet):
        assert_accepted("keda.sh_scaledobjects.yaml", one)
        (trigger,) = one["spec"]["triggers"]
        assert trigger["metadata"]["authModes"] == "bearer"
        wanted = {"kind": "ClusterTriggerAuthentication", "name": "thanos"}
        assert trigger["authenticationRef"] == wanted


def test_the_files_of_a_lab() -> None:
    fleet = compile_data(spec({"afterMinutes": 45, "belowPercent": 2})).fleet
    assert fleet is not None
    files = {file.path: file.text for file in artefacts(fleet)}
    found = list(yaml_documents(files["manifests/idle.yaml"]))
    assert [one["metadata"]["name"] for one in found] == ["alice", "bob"]
    for one in found:
        assert_accepted("keda.sh_scaledobjects.yaml", one)
        query = one["spec"]["triggers"][0]["metadata"]["query"]
        assert "< 0.02 " in query
        assert ">= 45" in query
    assert 'pod=~"bob-[a-z0-9]{1,10}-[a-z0-9]{5}"' in query
    lease = yaml_data(files["config/kube-state-metrics.yaml"])
    (resource,) = lease["spec"]["resources"]
    assert resource["groupVersionKind"]["kind"] == "ScaledObject"
    (metric,) = resource["metrics"]
    assert f"{resource['metricNamePrefix']}_{metric['name']}" in query


def test_a_fleet_without_it_has_no_file() -> None:
    fleet = compile_data(spec(pool={"idle": None})).fleet
    assert fleet is not None
    assert not [file for file in artefacts(fleet) if "idle" in file.path]
    assert not [file for file in artefacts(fleet) if "kube-state" in file.path]

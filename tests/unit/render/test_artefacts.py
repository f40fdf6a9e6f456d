from gpufleet.render.artefact import ArtefactKind
from gpufleet.render.artefacts import artefacts, validate_artefacts
from gpufleet.render.gpu_operator_values import mig_parted_files, plugin_files
from tests.reading import yaml_data, yaml_documents
from tests.unit.render.fleets import EKS_POOLS, TEAMS, compiled, eks, gke
from tests.unit.render.golden_files import assert_golden

FLEET = eks(queues={"teams": TEAMS})
FILES = {file.path: file for file in artefacts(FLEET)}


def test_the_files_of_a_fleet() -> None:
    listed = "".join(f"{file.kind:10}{file.path}  {file.purpose}\n" for file in FILES.values())
    assert_golden("files-eks.txt", listed)
    on_gke = "".join(f"{f.kind:10}{f.path}  {f.purpose}\n" for f in artefacts(gke()))
    assert_golden("files-gke.txt", on_gke)


def test_golden_namespace_and_config_maps() -> None:
    for path in (
        "manifests/gpu-operator/mig-parted.yaml",
        "manifests/gpu-operator/device-plugin.yaml",
        "manifests/gpu-operator/namespace.yaml",
    ):
        assert_golden(f"operator-{path.rpartition('/')[2]}", FILES[path].text)


def test_every_file_is_yaml_and_every_manifest_an_object() -> None:
    for file in FILES.values():
        documents = list(yaml_documents(file.text))
        assert documents, file.path
        if file.kind is ArtefactKind.MANIFEST:
            assert all({"apiVersion", "kind", "metadata"} <= set(d) for d in documents), file.path


def test_values_name_the_config_maps_beside_them() -> None:
    values = yaml_data(FILES["values/gpu-operator.yaml"].text)
    mig = yaml_data(FILES["manifests/gpu-operator/mig-parted.yaml"].text)
    plugin = yaml_data(FILES["manifests/gpu-operator/device-plugin.yaml"].text)
    assert values["migManager"]["config"]["name"] == mig["metadata"]["name"]
    assert values["devicePlugin"]["config"]["name"] == plugin["metadata"]["name"]
    assert mig["data"] == dict(mig_parted_files(FLEET).data)
    assert plugin["data"] == dict(plugin_files(FLEET).data)


def test_declared_values_are_merged_last() -> None:
    more = {"gpuOperator": {"values": {"dcgmExporter": {"hostPID": True}, "nfd": None}}}
    files = {file.path: file for file in artefacts(eks(addons=more))}
    values = yaml_data(files["values/gpu-operator.yaml"].text)
    assert values["dcgmExporter"]["enabled"] is True
    assert values["dcgmExporter"]["hostPID"] is True
    assert "nfd" not in values


def test_the_same_declaration_gives_the_same_bytes() -> None:
    assert artefacts(eks(queues={"teams": TEAMS})) == tuple(FILES.values())


def test_names_do_not_move_with_a_layout() -> None:
    changed = {**EKS_POOLS["large"], "sharing": {"mig": {"layouts": [{"devices": {"7g.80gb": 1}}]}}}
    other = compiled("eks", {**EKS_POOLS, "large": changed}, queues={"teams": TEAMS})
    assert [file.path for file in artefacts(other)] == list(FILES)


def test_what_exists_is_not_rendered_but_counted() -> None:
    pools = {**EKS_POOLS, "chat": {**EKS_POOLS["chat"], "ownership": "existing"}}
    fleet = compiled(
        "eks",
        pools,
        queues={"teams": TEAMS},
        addons={"gpuOperator": {"ownership": "existing"}},
    )
    files = {file.path: file for file in artefacts(fleet)}
    assert "manifests/karpenter/node-overlay-chat.yaml" not in files
    assert not any("gpu-operator" in path for path in files)
    assert "nvidia/mig-parted.yaml" in files
    assert "name: chat" in files["manifests/kueue/cluster-queues.yaml"].text
    assert "pods/chat.yaml" in files


def test_pools_gke_serves_have_no_configuration_of_the_operator() -> None:
    paths = [file.path for file in artefacts(gke())]
    assert [p for p in paths if p.startswith("nvidia/device-plugin/")] == [
        "nvidia/device-plugin/operator.yaml"
    ]


def test_without_an_operator_there_are_none_of_its_files() -> None:
    pools = {"turns": {"gpu": "L4", "nodes": {"min": 0, "max": 1}}}
    paths = [file.path for file in artefacts(compiled("gke", pools))]
    assert paths == ["clouds/gke/turns.yaml", "pods/turns.yaml"]


def test_targets_are_judged_together() -> None:
    pool = {"gpu": "L4", "nodes": {"min": 0, "max": 1}, "provisioner": "clusterAutoscaler"}
    pools = {f"p{i}": pool for i in range(65)}
    findings = validate_artefacts(compiled("eks", pools, queues={"teams": TEAMS}))
    assert [f.code for f in findings] == ["kueue-limit-exceeded"]


def test_claimed_pools_have_classes_claims_and_the_drivers_values() -> None:
    pools = {
        "claimed": {
            "instanceTypes": ["p5.48xlarge"],
            "nodes": {"min": 0, "max": 2},
            "sharing": {"dra": {"namespaces": ["lab"]}},
        }
    }
    files = {f.path: f for f in artefacts(compiled("eks", pools, queues={"teams": TEAMS}))}
    assert "manifests/dra/claims.yaml" in files
    assert "values/dra-driver.yaml" in files
    (snippet,) = yaml_documents(files["pods/claimed.yaml"].text)
    assert snippet["spec"]["resourceClaims"][0]["name"] == "gpu"
    assert snippet["spec"]["containers"][0]["resources"] == {"claims": [{"name": "gpu"}]}
    assert snippet["spec"]["nodeSelector"] == {"gpufleet.dev/pool": "claimed"}
    assert "gpufleet.dev/gpu-claims" in files["manifests/kueue/cluster-queues.yaml"].text
    assert "gpufleet.dev/gpu-claims" in files["values/kueue.yaml"].text
    assert validate_artefacts(compiled("eks", pools, queues={"teams": TEAMS})) == []


def test_claims_that_pods_share_are_in_no_quota() -> None:
    pools = {
        "shared": {
            "instanceTypes": ["p5.48xlarge"],
            "nodes": {"min": 0, "max": 2},
            "sharing": {"dra": {"sharing": "mps", "clients": 4, "namespaces": ["lab"]}},
        }
    }
    fleet = compiled("eks", pools, queues={"teams": TEAMS})
    assert not [f.path for f in artefacts(fleet) if f.path.startswith("manifests/kueue")]
    (warned,) = validate_artefacts(fleet)
    assert (warned.code, warned.path) == ("kueue-claims-without-quota", "pools[0].sharing.dra")
    assert "share claims" in warned.message


def test_monitoring_and_scaling_are_rendered_too() -> None:
    watched = {"queryUrl": "http://prometheus.monitoring.svc:9090"}
    pools = {"chat": {"gpu": "L4", "nodes": {"min": 0, "max": 1}}}
    addons = {"keda": {"enabled": True}}
    fleet = compiled("eks", pools, monitoring=watched, addons=addons)
    paths = {file.path for file in artefacts(fleet)}
    assert {
        "manifests/gpu-operator/dcgm-metrics.yaml",
        "manifests/monitoring/dashboards.yaml",
        "manifests/monitoring/rules.yaml",
        "manifests/monitoring/scrapes.yaml",
        "dashboards/gpufleet-cost.json",
        "dashboards/gpufleet-fleet.json",
        "values/keda.yaml",
    } <= paths
    plain = {file.path for file in artefacts(compiled("eks", pools, addons=addons))}
    assert "values/keda.yaml" in plain
    assert not [path for path in plain if "monitoring" in path or "dashboards" in path]

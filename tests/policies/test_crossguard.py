"""The CrossGuard front, through the SDK's own servicer and as a process over gRPC."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import json_format, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import FleetError
from gpufleet_policies.fronts.crossguard import Front, run_rules
from gpufleet_policies.fronts.crossguard_policies import SETTINGS
from gpufleet_policies.fronts.crossguard_server import AnalyzerService
from gpufleet_policies.fronts.settings_file import settings_file
from gpufleet_policies.pack_folder import write_pack
from gpufleet_policies.readers.raw_objects import ReferencedObject
from gpufleet_policies.rules.registry import by_id
from tests.policies.objects import CONTAINER, DEPLOYMENT, TODAY, WHOLE, changed, summary

PACK = Path(__file__).parents[2] / "policies"
FLEET = "gpufleet:index:GpuFleet"
DEPLOYMENT_TYPE = "kubernetes:apps/v1:Deployment"
MANDATORY, ADVISORY = analyzer_pb2.MANDATORY, analyzer_pb2.ADVISORY
WIRE = {
    "mandatory": MANDATORY,
    "advisory": ADVISORY,
    "remediate": analyzer_pb2.REMEDIATE,
    "disabled": analyzer_pb2.DISABLED,
}

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
WASTEFUL = changed(
    DEPLOYMENT,
    {
        'metadata.annotations."gpufleet.dev/model-params-b"': "1.1",
        f"{CONTAINER}.resources.limits": WHOLE,
    },
)
IDLE = changed(DEPLOYMENT, {f"{CONTAINER}.command": ["sleep", "infinity"]})


class Host:
    """The engine's calls: one per resource, configuration before the first."""

    def __init__(self, folder: Path) -> None:
        if settings_file(folder) is None:
            (folder / "gpu-policy.yaml").write_text("profile: auto\n")
        self.servicer = AnalyzerService(Front(folder, today=lambda: TODAY))
        self.infos = {one.name: one for one in self.servicer.GetAnalyzerInfo(None, None).policies}

    def configure(self, **properties: Any) -> "Host":
        """Settings under the policy that holds them."""
        return self.configure_policies({SETTINGS: properties})

    def configure_policies(self, written: dict[str, Any]) -> "Host":
        """The engine's configuration from a file for `--policy-pack-config`: over the declared
        levels and the defaults of the schemas (pulumi/pkg resource/analyzer/config.go)."""
        request = analyzer_pb2.ConfigureAnalyzerRequest()
        for name, info in self.infos.items():
            given = request.policyConfig[name]
            given.enforcementLevel = WIRE.get(written.get("all"), info.enforcementLevel)
            for key, schema in json_format.MessageToDict(info.configSchema.properties).items():
                if "default" in schema:
                    given.properties.update({key: schema["default"]})
        for name, value in written.items():
            if name == "all":
                continue
            given = request.policyConfig[name]
            properties = dict(value) if isinstance(value, dict) else {"enforcementLevel": value}
            if (level := properties.pop("enforcementLevel", None)) is not None:
                given.enforcementLevel = WIRE[level]
            given.properties.update(properties)
        self.servicer.Configure(request, None)
        return self

    def analyze(self, kind: str, properties: dict[str, Any], name: str = "w") -> dict[str, int]:
        """Rule id -> enforcement level of every diagnostic."""
        return levels(self.servicer.Analyze(request(kind, properties, name), None))

    def remediate(self, kind: str, properties: dict[str, Any]) -> list[dict[str, Any]]:
        """The new inputs of every remediation."""
        response = self.servicer.Remediate(request(kind, properties, "w"), None)
        assert not [found.diagnostic for found in response.remediations if found.diagnostic]
        return [json_format.MessageToDict(found.properties) for found in response.remediations]

    def analyze_stack(self) -> dict[str, int]:
        return levels(self.servicer.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(), None))


def request(kind: str, properties: dict[str, Any], name: str) -> Any:
    struct = struct_pb2.Struct()
    struct.update(properties)
    urn = f"urn:pulumi:dev::p::{kind}::{name}"
    return analyzer_pb2.AnalyzeRequest(type=kind, urn=urn, name=name, properties=struct)


def levels(response: Any) -> dict[str, int]:
    found = {}
    for diagnostic in response.diagnostics:
        message = diagnostic.message
        rule = message[1 : message.index("]")]
        assert diagnostic.policyName == (rule if rule in by_id() else SETTINGS)
        found[rule] = diagnostic.enforcementLevel
    return found


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_workload_is_judged_with_the_pools_of_its_program(host: Host):
    assert host.analyze(FLEET, summary()) == {}
    assert host.analyze(DEPLOYMENT_TYPE, WASTEFUL) == {"gpu-oversized-for-model": MANDATORY}
    assert host.analyze(DEPLOYMENT_TYPE, DEPLOYMENT) == {}


def test_the_rules_run_once_for_all_policies(host: Host, monkeypatch: pytest.MonkeyPatch):
    runs: list[type[Any]] = []

    def counted(facts: Any, *args: Any, **options: Any) -> Any:
        runs.append(type(facts))
        return run_rules(facts, *args, **options)

    monkeypatch.setattr("gpufleet_policies.fronts.crossguard.run_rules", counted)
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": ADVISORY}
    assert runs == [WorkloadFacts, ReferencedObject]


def test_a_workload_seen_first_is_reported_with_the_fleet(host: Host):
    assert host.analyze(DEPLOYMENT_TYPE, WASTEFUL) == {}
    assert host.analyze(FLEET, summary()) == {"gpu-oversized-for-model": MANDATORY}


def test_rules_that_need_no_fleet_are_not_repeated_with_it(host: Host):
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": ADVISORY}
    assert host.analyze(FLEET, summary()) == {}


def test_both_levels_report_their_own_findings(host: Host):
    assert host.analyze(FLEET, summary({"environment": "dev", "pools[2].nodes.min": 1})) == {
        "nonprod-pool-minimum-above-zero": ADVISORY
    }
    both = changed(WASTEFUL, {f"{CONTAINER}.command": ["sleep", "infinity"]})
    assert host.analyze(DEPLOYMENT_TYPE, both) == {
        "gpu-oversized-for-model": MANDATORY,
        "gpu-idle-command": ADVISORY,
    }


def test_with_two_fleets_nobody_guesses_the_cluster(host: Host):
    host.analyze(FLEET, summary(), "east")
    host.analyze(FLEET, summary(), "west")
    assert host.analyze(DEPLOYMENT_TYPE, WASTEFUL) == {}


def test_levels_and_thresholds_come_from_the_configuration(host: Host):
    host.configure(rules={"gpu-idle-command": "mandatory"}, profile="dev")
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": MANDATORY}
    host.configure(rules={"gpu-idle-command": "off"})
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {}
    host.configure(environment="prod")
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": MANDATORY}


def test_the_fleet_of_another_program_as_plain_data(host: Host):
    host.configure(fleet={"fleet": summary()["fleet"]})
    found = host.analyze(DEPLOYMENT_TYPE, WASTEFUL)
    assert found == {"gpu-oversized-for-model": MANDATORY}
    too_many = changed(DEPLOYMENT, {"spec.replicas": 100})
    assert host.analyze(DEPLOYMENT_TYPE, too_many) == {"gpu-pods-exceed-declared-pools": ADVISORY}


def test_the_fleet_of_another_program_as_a_file_beside_the_pack(tmp_path: Path):
    from tests.policies.objects import SPEC

    (tmp_path / "gpu-policy.yaml").write_text("fleet: fleet.json\n")
    (tmp_path / "fleet.json").write_text(json.dumps({"config": {"gpufleet:fleet": SPEC}}))
    found = Host(tmp_path).analyze(DEPLOYMENT_TYPE, WASTEFUL)
    assert found == {"gpu-oversized-for-model": MANDATORY}


def test_the_fleet_of_the_stack_configuration(host: Host, monkeypatch: pytest.MonkeyPatch):
    from tests.policies.objects import SPEC

    monkeypatch.setenv("PULUMI_CONFIG", json.dumps({"gpufleet:fleet": json.dumps(SPEC)}))
    assert host.analyze(DEPLOYMENT_TYPE, WASTEFUL) == {"gpu-oversized-for-model": MANDATORY}


def test_a_fleet_file_that_is_missing_stops_once_and_says_so(host: Host):
    host.configure(fleet="nowhere.yaml")
    response = host.servicer.Analyze(request(DEPLOYMENT_TYPE, WASTEFUL, "w"), None)
    assert levels(response) == {"policy-settings-unreadable": MANDATORY}
    assert "nowhere.yaml: No such file or directory" in response.diagnostics[0].message
    assert host.analyze(DEPLOYMENT_TYPE, WASTEFUL) == {}


def test_a_broken_settings_file_ends_the_pack_before_it_serves(tmp_path: Path):
    (tmp_path / "gpu-policy.yaml").write_text("rules: {gpu-idle-comand: off}\n")
    with pytest.raises(FleetError, match="there is no field gpu-idle-comand"):
        Front(tmp_path)
    (tmp_path / "gpu-policy.yaml").write_text("- a list\n")
    with pytest.raises(ValueError, match="must be a mapping of settings, found list"):
        Front(tmp_path)


def test_a_fresh_pack_refuses_plain_waste(tmp_path: Path):
    write_pack(tmp_path)
    said = Host(tmp_path).configure().analyze(DEPLOYMENT_TYPE, IDLE)
    assert said["gpu-idle-command"] == MANDATORY


def test_settings_that_are_missing_mean_the_levels_of_prod_and_are_named(tmp_path: Path):
    def said() -> list[tuple[str, int]]:
        front = Front(tmp_path, today=lambda: TODAY)
        front.configure_stack("dev")
        found = front.analyze(DEPLOYMENT_TYPE, "urn", "w", lambda: IDLE)
        return [(one.message.partition(". ")[0], WIRE[one.level.value]) for one in found]

    settings = tmp_path / "gpu-policy.yaml"
    write_pack(tmp_path)
    fresh = said()
    assert [level for _, level in fresh] == [MANDATORY]
    settings.unlink()
    missing = f"{settings} is missing, so the levels of profile `prod` hold"
    advice = "with `profile: prod`, or another profile"
    note = f"[policy-settings-missing] {missing}; write it {advice}"
    assert said() == [(note, ADVISORY), *fresh]
    for text in ("", "# profile: dev\n"):
        settings.write_text(text)
        empty = f"{settings} is empty, so the levels of profile `prod` hold"
        note = (
            f"[policy-settings-missing] {empty}; write `profile: prod`, or another profile, into it"
        )
        assert said() == [(note, ADVISORY), *fresh]
    settings.write_text("profile: dev\n")
    assert [level for _, level in said()] == [ADVISORY]


def test_the_configuration_of_a_run_is_settings_too(tmp_path: Path):
    write_pack(tmp_path)
    (tmp_path / "gpu-policy.yaml").write_text("")
    host = Host(tmp_path)
    found = host.configure().analyze(DEPLOYMENT_TYPE, IDLE)
    assert found == {"policy-settings-missing": ADVISORY, "gpu-idle-command": MANDATORY}
    chosen = host.configure(profile="dev").analyze(DEPLOYMENT_TYPE, IDLE)
    assert chosen == {"gpu-idle-command": ADVISORY}


def test_secrets_are_not_quoted(host: Host):
    secret = {"name": "TOKEN", "value": "hunter2-secret"}
    document = changed(WASTEFUL, {f"{CONTAINER}.env": [secret]})
    host.analyze(FLEET, summary())
    response = host.servicer.Analyze(request(DEPLOYMENT_TYPE, document, "w"), None)
    assert response.diagnostics
    assert "hunter2" not in str(response)


def test_many_threads_give_what_one_gives(host: Host):
    host.analyze(FLEET, summary())
    results: list[dict[str, int]] = []

    def work(index: int) -> None:
        document = WASTEFUL if index % 2 else IDLE
        results.append(host.analyze(DEPLOYMENT_TYPE, document, f"w{index}"))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(str(result) for result in results)
    assert found == sorted(
        [str({"gpu-oversized-for-model": MANDATORY}), str({"gpu-idle-command": MANDATORY})] * 8
    )


JOB_TYPE = "kubernetes:batch/v1:Job"
SECRET = {
    "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
    "value": "hunter2",
}
ENDLESS_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "annotations": {"note": UNKNOWN_TEXT, "token": SECRET}},
    "spec": {"template": DEPLOYMENT["spec"]["template"]},
}


def test_a_rule_at_remediate_mends_what_it_found(host: Host):
    host.configure(rules={"gpu-job-without-deadline": "remediate"})
    (inputs,) = host.remediate(JOB_TYPE, ENDLESS_JOB)
    assert inputs["spec"]["activeDeadlineSeconds"] > 0
    del inputs["spec"]["activeDeadlineSeconds"]
    assert inputs == ENDLESS_JOB, "unknown values and secrets stay as they were"


def test_what_remediation_left_counts_as_mandatory(host: Host):
    host.configure(rules={"gpu-job-without-deadline": "remediate", "gpu-idle-command": "remediate"})
    assert host.analyze(JOB_TYPE, ENDLESS_JOB) == {"gpu-job-without-deadline": MANDATORY}
    assert host.remediate(DEPLOYMENT_TYPE, IDLE) == []
    assert host.analyze(DEPLOYMENT_TYPE, IDLE) == {"gpu-idle-command": MANDATORY}


def test_nothing_is_mended_unasked(host: Host):
    assert host.remediate(JOB_TYPE, ENDLESS_JOB) == []
    host.configure(rules={"gpu-job-without-deadline": "remediate"})
    assert host.remediate(DEPLOYMENT_TYPE, DEPLOYMENT) == []
    assert host.remediate("random:index:RandomId", {"byteLength": 4}) == []


@pytest.fixture(scope="module")
def process() -> Iterator[Any]:
    """The pack as the language host starts it."""
    environment = {
        **os.environ,
        "PULUMI_PROJECT": "p",
        "PULUMI_STACK": "dev",
        "PULUMI_DRY_RUN": "true",
        "PULUMI_CONFIG": "{}",
    }
    command = [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(PACK)]
    with subprocess.Popen(
        command, cwd=PACK, env=environment, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        assert first.strip().isdecimal(), f"the first line must be the port, it is {first!r}"
        with grpc.insecure_channel(f"127.0.0.1:{first.strip()}") as channel:
            yield analyzer_pb2_grpc.AnalyzerStub(channel)
        running.terminate()


def test_the_pack_folder_boots_and_judges_over_grpc(process: Any):
    assert process.GetAnalyzerInfo(analyzer_pb2.google_dot_protobuf_dot_empty__pb2.Empty()).name
    assert levels(process.Analyze(request(FLEET, summary(), "fleet"), timeout=120)) == {}
    found = levels(process.Analyze(request(DEPLOYMENT_TYPE, WASTEFUL, "w"), timeout=120))
    assert found == {"gpu-oversized-for-model": MANDATORY}


def test_hostile_properties_do_not_end_the_process(process: Any):
    for properties in (
        {"spec": "text"},
        {"spec": {"template": {"spec": {"containers": "x"}}}},
        {"spec": {"template": {"spec": {"containers": [1, None, {"resources": []}]}}}},
        {"metadata": [1], "spec": {"replicas": "many"}},
    ):
        process.Analyze(request(DEPLOYMENT_TYPE, properties, "h"), timeout=120)
    process.Analyze(
        request(FLEET, {"fleet": {"pools": [{"gpusPerNode": "x"}, 7]}}, "f"), timeout=30
    )


NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


def test_a_pool_whose_machine_stands_in_a_launch_template_is_judged_with_it(host: Host):
    group = {
        "launchTemplate": {"id": UNKNOWN_TEXT},
        "capacityType": "ON_DEMAND",
        "scalingConfig": {"minSize": 0, "maxSize": 200, "desiredSize": 0},
        "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
        "nodeRepairConfig": {"enabled": True},
    }
    assert host.analyze(NODE_GROUP, group, "gpu") == {}, "nothing says that it has GPUs"
    host.analyze(LAUNCH_TEMPLATE, {"instanceType": "g6.xlarge"}, "template")
    assert host.analyze_stack() == {"gpu-pool-unbounded": MANDATORY}


def test_what_was_said_of_a_pool_alone_is_not_said_again_with_the_others(host: Host):
    group = {
        "instanceTypes": ["g6.xlarge"],
        "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0},
        "nodeRepairConfig": {"enabled": True},
        "diskSize": 100,
    }
    assert host.analyze(NODE_GROUP, group, "gpu") == {"gpu-pool-untainted": ADVISORY}
    host.analyze(NODE_GROUP, {**group, "instanceTypes": ["m7i.large"]}, "cpu")
    assert host.analyze_stack() == {"gpu-pool-untainted": MANDATORY}
    again = host.analyze(NODE_GROUP, {**group, "taints": [], "amiType": UNKNOWN_TEXT}, "gpu")
    assert again == {"gpu-pool-untainted": ADVISORY}


def test_children_of_a_fleet_are_judged_by_the_fleet_alone(host: Host):
    host.analyze(FLEET, summary({"pools[0].nodes.min": 1, "environment": "staging"}), "fleet")
    urn = f"urn:pulumi:dev::p::{FLEET}$gpufleet:index:EksGpuNodeGroup${NODE_GROUP}::small"
    struct = struct_pb2.Struct()
    struct.update({"instanceTypes": ["g6.xlarge"], "scalingConfig": {"minSize": 1, "maxSize": 999}})
    child = analyzer_pb2.AnalyzeRequest(type=NODE_GROUP, urn=urn, name="small", properties=struct)
    assert levels(host.servicer.Analyze(child, None)) == {}

"""Every broken declaration gives clear findings at the right place, an exit code, no traceback."""

import copy
import json
import re

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.cli import _program

GOOD = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1", "kubernetesVersion": "1.36"},
    "pools": [
        {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}},
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 0, "max": 1},
            "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
        },
    ],
}

REMOVE = object()


def changed(changes: dict[str, object]) -> dict:
    """GOOD with values set at paths such as `pools[0].nodes.min`."""
    data = copy.deepcopy(GOOD)
    for path, value in changes.items():
        steps = [int(s) if s.isdigit() else s for s in re.findall(r"[^.\[\]]+", path)]
        here = data
        for step in steps[:-1]:
            here = here[step]
        if value is REMOVE:
            del here[steps[-1]]
        else:
            here[steps[-1]] = value
    return data


def run(*arguments: str, text: str | bytes | None = None):
    return CliRunner().invoke(_program, list(arguments), input=text, catch_exceptions=False)


def findings_of(text: str | bytes) -> tuple[int, list[dict]]:
    result = run("compile", "-", "--format", "json", text=text)
    return result.exit_code, json.loads(result.stdout)["findings"]


def test_the_base_of_all_cases_is_fine():
    code, findings = findings_of(yaml.safe_dump(GOOD))
    assert code == 0, findings


CASES: list[tuple[str, dict[str, object], str, str]] = [
    # structure
    ("unknown key", {"pols": []}, "spec-key-unknown", "pols"),
    ("unknown key in a pool", {"pools[0].gpus": "L4"}, "spec-key-unknown", "pools[0].gpus"),
    ("snake case", {"pools[0].gpus_per_node": 1}, "spec-key-unknown", "pools[0].gpus_per_node"),
    ("no pools", {"pools": REMOVE}, "spec-key-missing", "pools"),
    ("empty pools", {"pools": []}, "spec-length-out-of-range", "pools"),
    ("pool without nodes", {"pools[0].nodes": REMOVE}, "spec-key-missing", "pools[0].nodes"),
    ("pool without name", {"pools[0].name": REMOVE}, "spec-key-missing", "pools[0].name"),
    ("pools as mapping", {"pools": {"a": 1}}, "spec-value-wrong-type", "pools"),
    ("pool as text", {"pools[0]": "chat"}, "spec-value-wrong-type", "pools[0]"),
    ("null pool", {"pools[0]": None}, "spec-value-wrong-type", "pools[0]"),
    ("unknown platform", {"platform": "azure"}, "spec-value-unknown", "platform"),
    ("unquoted edition", {"catalogue": 2026.11}, "spec-value-wrong-type", "catalogue"),
    ("edition nobody has", {"catalogue": "2031.01"}, "catalogue-edition-unknown", "catalogue"),
    ("unquoted version", {"cluster.kubernetesVersion": 1.36}, "spec-value-inconsistent", "cluster"),
    ("patch version", {"cluster.kubernetesVersion": "1.36.2"}, "spec-value-malformed", "cluster"),
    ("wrong enum", {"pools[0].intent": "train"}, "spec-value-unknown", "pools[0].intent"),
    # numbers and units
    ("min over max", {"pools[0].nodes": {"min": 3, "max": 1}}, "spec-value-inconsistent", "nodes"),
    ("max zero", {"pools[0].nodes.max": 0}, "spec-value-out-of-range", "pools[0].nodes.max"),
    ("negative min", {"pools[0].nodes.min": -1}, "spec-value-out-of-range", "pools[0].nodes.min"),
    ("fractional max", {"pools[0].nodes.max": 1.5}, "spec-value-wrong-type", "pools[0].nodes.max"),
    ("max as words", {"pools[0].nodes.max": "ten"}, "spec-value-wrong-type", "pools[0].nodes.max"),
    ("max with unit", {"pools[0].nodes.max": "4 nodes"}, "spec-value-wrong-type", "nodes.max"),
    ("no max", {"pools[0].nodes": {"min": 0}}, "spec-key-missing", "pools[0].nodes.max"),
    ("expected outside", {"pools[0].nodes.expected": 9}, "spec-value-inconsistent", "nodes"),
    ("disk with unit", {"pools[0].disk": {"sizeGib": "200Gi"}}, "spec-value-wrong-type", "sizeGib"),
    ("tiny disk", {"pools[0].disk": {"sizeGib": 20}}, "spec-value-out-of-range", "disk.sizeGib"),
    ("budget zero", {"budget": {"usdPerHour": 0}}, "spec-value-out-of-range", "budget.usdPerHour"),
    ("budget infinite", {"budget": {"usdPerHour": float("inf")}}, "spec-value", "budget"),
    (
        "budget too small",
        {"budget": {"usdPerHour": 1}, "pools[0].nodes": {"min": 1, "max": 4}},
        "budget-exceeded",
        "budget.usdPerHour",
    ),
    (
        "one replica",
        {"pools[0].sharing": {"timeSlicing": {"replicas": 1}}},
        "spec-value-out-of-range",
        "pools[0].sharing.timeSlicing.replicas",
    ),
    (
        "sixty MPS clients",
        {"pools[0].sharing": {"mps": {"replicas": 61}}},
        "mps",
        "pools[0].sharing.mps.replicas",
    ),
    # names
    ("capital name", {"pools[0].name": "Chat"}, "spec-value-malformed", "pools[0].name"),
    ("underscore name", {"pools[0].name": "my_pool"}, "spec-value-malformed", "pools[0].name"),
    ("leading digit", {"pools[0].name": "1chat"}, "spec-value-malformed", "pools[0].name"),
    ("trailing hyphen", {"pools[0].name": "chat-"}, "spec-value-malformed", "pools[0].name"),
    ("long name", {"pools[0].name": "c" * 41}, "spec-length-out-of-range", "pools[0].name"),
    ("empty name", {"pools[0].name": ""}, "spec-", "pools[0].name"),
    ("emoji name", {"pools[0].name": "chät🚀"}, "spec-value-malformed", "pools[0].name"),
    ("same name twice", {"pools[1].name": "chat"}, "pool-name-twice", "pools[1].name"),
    (
        "label value with plus",
        {"pools[0].labels": {"a": "1g.5gb+me"}},
        "spec-value-malformed",
        "pools[0].labels",
    ),
    ("label key with space", {"pools[0].labels": {"a b": "c"}}, "spec-value-malformed", "labels"),
    (
        "reserved label",
        {"pools[0].labels": {"nvidia.com/gpu.present": "true"}},
        "label-reserved",
        "pools[0].labels",
    ),
    (
        "our own taint",
        {"pools[0].taints": [{"key": "nvidia.com/gpu"}]},
        "taint-twice",
        "pools[0].taints[0]",
    ),
    (
        "cloud spelling of effect",
        {"pools[0].taints": [{"key": "a", "effect": "NO_SCHEDULE"}]},
        "spec-value-unknown",
        "pools[0].taints[0].effect",
    ),
    # hardware
    ("GPU nobody makes", {"pools[0].gpu": "L5"}, "gpu-unknown", "pools[0].gpu"),
    ("GPU not on platform", {"pools[0].gpu": "A30-24GB"}, "gpu-not-on-platform", "pools[0].gpu"),
    ("no hardware", {"pools[0].gpu": REMOVE}, "pool-hardware-missing", "pools[0]"),
    (
        "type nobody sells",
        {"pools[1].instanceTypes": ["p5.24xlarge"]},
        "instance-type-unknown",
        "pools[1].instanceTypes[0]",
    ),
    (
        "type of another cloud",
        {"pools[1].instanceTypes": ["a2-ultragpu-8g"]},
        "instance-type-not-on-platform",
        "pools[1].instanceTypes[0]",
    ),
    (
        "types that differ",
        {"pools[1].instanceTypes": ["p4de.24xlarge", "p5.48xlarge"]},
        "instance-types-differ",
        "pools[1].instanceTypes",
    ),
    (
        "type twice",
        {"pools[1].instanceTypes": ["p4de.24xlarge", "p4de.24xlarge"]},
        "instance-type-twice",
        "pools[1].instanceTypes[1]",
    ),
    (
        "GPU and type disagree",
        {"pools[1].gpu": "L4"},
        "gpu-and-instance-type-disagree",
        "pools[1].gpu",
    ),
    (
        "count nobody offers",
        {"pools[0].gpusPerNode": 3},
        "gpus-per-node-not-offered",
        "pools[0].gpusPerNode",
    ),
    (
        "Gaudi",
        {"pools[0].gpu": REMOVE, "pools[0].instanceTypes": ["dl1.24xlarge"]},
        "accelerator-not-yet-supported",
        "pools[0]",
    ),
    (
        "image of another cloud",
        {"pools[0].image": "cos"},
        "image-not-on-platform",
        "pools[0].image",
    ),
    ("no region", {"cluster.region": REMOVE}, "region-missing", "cluster.region"),
    (
        "fabric of another cloud",
        {"pools[1].fabric": "tcpxo"},
        "fabric-not-on-platform",
        "pools[1].fabric",
    ),
    ("no such interface", {"pools[0].fabric": "efa"}, "fabric-not-on-machine", "pools[0].fabric"),
    ("options of another cloud", {"pools[0].gke": {}}, "options-of-other-platform", "pools[0].gke"),
    # sharing
    (
        "two ways",
        {"pools[0].sharing": {"exclusive": {}, "mps": {"replicas": 4}}},
        "spec-value-inconsistent",
        "pools[0].sharing",
    ),
    ("no way", {"pools[0].sharing": {}}, "spec-value-inconsistent", "pools[0].sharing"),
    (
        "MIG on L4",
        {"pools[0].sharing": {"mig": {"layouts": [{"devices": {"1g.6gb": 4}}]}}},
        "mig",
        "pools[0].sharing.mig",
    ),
    (
        "impossible layout",
        {"pools[1].sharing.mig.layouts": [{"devices": {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1}}]},
        "mig",
        "pools[1].sharing.mig.layouts[0]",
    ),
    (
        "seven compute, nine memory",
        {"pools[1].sharing.mig.layouts": [{"devices": {"3g.40gb": 2, "1g.10gb": 1}}]},
        "mig",
        "pools[1].sharing.mig.layouts[0]",
    ),
    (
        "profile of another GPU",
        {"pools[1].sharing.mig.layouts": [{"devices": {"1g.5gb": 7}}]},
        "mig",
        "pools[1].sharing.mig.layouts[0]",
    ),
    (
        "too many GPUs laid out",
        {"pools[1].sharing.mig.layouts": [{"gpus": 9, "devices": {"1g.10gb": 7}}]},
        "mig",
        "pools[1].sharing.mig.layouts",
    ),
    (
        "single with two profiles",
        {
            "pools[1].sharing.mig": {
                "strategy": "single",
                "layouts": [{"devices": {"1g.10gb": 3, "3g.40gb": 1}}],
            }
        },
        "mig",
        "pools[1].sharing.mig",
    ),
    (
        "upper-case profile",
        {"pools[1].sharing.mig.layouts": [{"devices": {"1G.10GB": 7}}]},
        "spec-value-malformed",
        "pools[1].sharing.mig.layouts[0].devices",
    ),
    (
        "zero instances",
        {"pools[1].sharing.mig.layouts": [{"devices": {"1g.10gb": 0}}]},
        "spec-value-out-of-range",
        "pools[1].sharing.mig.layouts[0].devices",
    ),
    (
        "claims for MIG devices of a GPU without MIG",
        {"pools[0].sharing": {"dra": {"devices": "mig"}}},
        "mig-unsupported",
        "pools[0].sharing.dra",
    ),
    (
        "claims before Kubernetes serves them",
        {"pools[0].sharing": {"dra": {}}, "cluster.kubernetesVersion": "1.33"},
        "dra-kubernetes-too-old",
        "pools[0].sharing.dra",
    ),
    (
        "vGPU type of another board",
        {"pools[0].sharing": {"vgpu": {"profile": "grid_a100-40c"}}},
        "vgpu-other-gpu",
        "pools[0].sharing.vgpu.profile",
    ),
    # capacity
    (
        "queued with spot",
        {
            "platform": "gke",
            "cluster.region": "us-central1",
            "pools[0].capacity": [{"queued": {}}, {"spot": {}}],
            "pools[1].instanceTypes": ["a2-ultragpu-8g"],
        },
        "capacity-not-combinable",
        "pools[0].capacity[0].queued",
    ),
    (
        "flex start on EKS",
        {"pools[0].capacity": [{"flexStart": {}}]},
        "capacity-not-on-platform",
        "pools[0].capacity[0].flexStart",
    ),
    (
        "own hardware on EKS",
        {"pools[0].capacity": [{"onPrem": {}}]},
        "capacity-not-on-platform",
        "pools[0].capacity[0].onPrem",
    ),
    (
        "block without zone",
        {
            "pools[1].capacity": [
                {"capacityBlock": {"id": "cr-0123456789abcdef0", "until": "2026-12-20T11:30:00Z"}}
            ]
        },
        "spec-key-missing",
        "pools[1].capacity[0].capacityBlock.zone",
    ),
    (
        "block with local time",
        {
            "pools[1].capacity": [
                {
                    "capacityBlock": {
                        "id": "cr-0123456789abcdef0",
                        "zone": "us-east-1a",
                        "until": "2026-12-20T11:30:00",
                    }
                }
            ]
        },
        "spec-value-inconsistent",
        "pools[1].capacity[0].capacityBlock.until",
    ),
    (
        "two ways in one entry",
        {"pools[0].capacity": [{"spot": {}, "onDemand": {}}]},
        "spec-value-inconsistent",
        "pools[0].capacity[0]",
    ),
    (
        "list on a managed group",
        {"pools[0].capacity": [{"spot": {}}, {"onDemand": {}}]},
        "capacity-list-on-managed-group",
        "pools[0].capacity",
    ),
    (
        "block on a G machine",
        {
            "pools[0].capacity": [
                {
                    "capacityBlock": {
                        "id": "cr-0123456789abcdef0",
                        "zone": "us-east-1a",
                        "until": "2026-12-20T11:30:00Z",
                    }
                }
            ]
        },
        "capacity-not-sold",
        "pools[0].capacity[0].capacityBlock",
    ),
    # whole fleet
    (
        "autoscaler on GKE",
        {
            "platform": "gke",
            "cluster.region": "us-central1",
            "provisioner": "clusterAutoscaler",
            "pools[1].instanceTypes": ["a2-ultragpu-8g"],
        },
        "provisioner-not-on-platform",
        "provisioner",
    ),
    (
        "driver twice",
        {"addons": {"gpuOperator": {"driver": {"enabled": True}}}},
        "driver-installed-twice",
        "addons.gpuOperator.driver.enabled",
    ),
    (
        "nobody installs the device plugin",
        {"addons": {"gpuOperator": {"devicePlugin": {"enabled": False}}}},
        "device-plugin-installed-by-nobody",
        "addons.gpuOperator.devicePlugin.enabled",
    ),
    (
        "shares over one",
        {"queues": {"teams": [{"name": "a", "share": 0.6}, {"name": "b", "share": 0.6}]}},
        "team-shares-over-one",
        "queues.teams",
    ),
    (
        "team twice",
        {"queues": {"teams": [{"name": "a", "share": 0.5}, {"name": "a", "share": 0.5}]}},
        "team-twice",
        "queues.teams[1].name",
    ),
    (
        "import of what is not managed",
        {"pools[0].ownership": "existing", "pools[0].importId": "x"},
        "import-of-unmanaged-pool",
        "pools[0].importId",
    ),
    (
        "mirror twice",
        {"addons": {"charts": {"source": {"folder": "a", "oci": "oci://b"}}}},
        "spec-value-inconsistent",
        "addons.charts.source",
    ),
]


@pytest.mark.parametrize(
    ("changes", "code", "path"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_broken_spec(changes, code, path):
    text = yaml.safe_dump(changed(changes), sort_keys=False, allow_unicode=True)
    exit_code, findings = findings_of(text)
    assert exit_code == 1, findings
    errors = [f for f in findings if f["severity"] == "error"]
    fitting = [f for f in errors if f["code"].startswith(code) and path in f["path"]]
    assert fitting, errors
    assert len(errors) <= 4, "one mistake makes a handful of findings at most"
    for finding in errors:
        assert finding["message"].strip()
        assert "pydantic" not in finding["message"]
        assert "Traceback" not in finding["message"]


def test_at_least_fifty_broken_specs():
    assert len(CASES) + len(UNREADABLE) >= 50


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{c}: &{c} [{','.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
)

UNREADABLE: list[tuple[str, str | bytes, str]] = [
    ("empty", "", "empty"),
    ("only a comment", "# nothing\n", "empty"),
    ("a list", "- a\n- b\n", "not a mapping"),
    ("a word", "hello\n", "not a mapping"),
    ("tabs", "pools:\n\t- name: a\n", "tab"),
    ("ten megabytes", "x: " + "y" * (10 << 20), "limit"),
    ("alias bomb", BOMB, "aliases"),
    ("deep nesting", "a: " + "[" * 5000 + "]" * 5000, "nested deeper"),
    ("alias to itself", "a: &a [*a]\n", ""),
    ("python object", "a: !!python/object/apply:os.system ['true']\n", "line 1"),
    ("two documents", "a: 1\n---\nb: 2\n", "one FleetSpec per file"),
    ("key twice", "platform: eks\nplatform: gke\n", "written twice"),
    ("unclosed", "pools: [a, b\n", "line"),
    ("not UTF-8", b"\xff\xfe\x00p", "UTF-8"),
    ("NUL byte", b"a: \x00\n", ""),
    ("boolean key", "on: 1\n", "quotes"),
    ("encrypted fleet", "config: {'gpufleet:fleet': {secure: abc}}\n", "encrypted"),
    ("stack without fleet", "config: {'gpufleet:other': 1}\n", "gpufleet:fleet"),
    ("bad date", "a: 2026-13-45\n", "cannot be read"),
]


@pytest.mark.parametrize(
    ("text", "said"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE]
)
def test_unreadable_input(text, said, monkeypatch, capsys):
    import io
    import sys

    import gpufleet.cli as program

    stdin = io.TextIOWrapper(io.BytesIO(text.encode() if isinstance(text, str) else text))
    monkeypatch.setattr(sys, "argv", ["gpufleet", "compile", "-"])
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(SystemExit) as stop:
        program.main()
    captured = capsys.readouterr()
    assert stop.value.code == 2, captured
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err) < 2000


def test_missing_file_is_one_sentence(monkeypatch, capsys):
    import sys

    import gpufleet.cli as program

    monkeypatch.setattr(sys, "argv", ["gpufleet", "compile", "nowhere.yaml"])
    with pytest.raises(SystemExit) as stop:
        program.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "gpufleet: nowhere.yaml: No such file or directory\n"


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAABCDEFGHIJKLMNOP",
        "nvapi-" + "x" * 30,
        "hf_" + "a" * 30,
        "-----BEGIN RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.x",
    ],
)
def test_a_secret_is_refused_and_never_repeated(secret):
    text = yaml.safe_dump(changed({"tags": {"owner": secret}}))
    result = run("compile", "-", text=text)
    assert result.exit_code == 1
    assert "spec-holds-secret" in result.output
    assert "tags.owner" in result.output
    assert secret not in result.output


def test_a_key_that_names_a_credential_is_refused_and_its_value_never_repeated():
    values = {"driver": {"licensing": {"apiKey": "tiny-secret"}}}
    text = yaml.safe_dump(changed({"addons": {"gpuOperator": {"values": values}}}))
    result = run("compile", "-", text=text)
    assert result.exit_code == 1
    assert "addons.gpuOperator.values.driver.licensing.apiKey" in result.output
    assert "tiny-secret" not in result.output


def test_problems_of_different_pools_come_together():
    data = changed(
        {
            "pools[0].intent": "train",
            "pools[1].sharing.mig.layouts": [{"devices": {"3g.40gb": 2, "1g.10gb": 1}}],
        }
    )
    _, findings = findings_of(yaml.safe_dump(data))
    places = {f["path"].split(".")[0] for f in findings if f["severity"] == "error"}
    assert places == {"pools[0]", "pools[1]"}

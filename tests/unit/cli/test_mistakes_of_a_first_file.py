"""Mistakes of a first fleet file: field, value, limit and fix are in the output, in plain words.

The left column is what users of other tools write: names of clouds, of `eksctl` and Terraform, of
Kubernetes; and the result of an editor without YAML support.
"""

import pytest

from gpufleet.cli.source import compile_source
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.platforms.compiled import compile_document

FLEET = """\
catalogue: "2026.11"
platform: eks
cluster: {name: ml, region: us-east-1, kubernetesVersion: "1.36"}
pools:
  - name: chat
    gpu: L4
    nodes: {min: 0, max: 2}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "path", "fix"),
    [
        ("platform: eks", "platform: aws", "platform", "write eks"),
        ("platform: eks", "platform: gcp", "platform", "write gke"),
        ("platform: eks", "platform: vmware", "platform", "write vsphere"),
        ("platform: eks", "platform: on-prem", "platform", "write `existing` for nodes"),
        ('"2026.11"', "latest", "catalogue", 'write `catalogue: "2026.11"`'),
        ('"2026.11"', "2026.11", "catalogue", 'put it in quotes: "2026.11"'),
        ('"1.36"', '"v1.36"', "cluster.kubernetesVersion", 'write "1.36"'),
        ('"1.36"', '"1.36.2"', "cluster.kubernetesVersion", 'write "1.36"'),
        ("pools:", "pool:", "pool", "nearest: pools"),
        ("gpu: L4", "gpu: [L4]", "pools[0].gpu", "write `gpu: L4`"),
        ("gpu: L4", "gpu: A100", "pools[0].gpu", "nearest: A100-40GB, A100-80GB"),
        ("gpu: L4", "accelerator: L4", "pools[0].accelerator", "nearest: gpu"),
        ("gpu: L4", "machineType: g6.xlarge", "pools[0].machineType", "instanceTypes"),
        ("gpu: L4", "instanceTypes: g6.xlarge", "pools[0].instanceTypes", "[g6.xlarge]`"),
        ("min: 0", "min: 5", "pools[0].nodes", "write max: 5"),
        ("min: 0", 'min: "0"', "pools[0].nodes.min", "write 0 without quotes"),
        ("max: 2", "max: 2.5", "pools[0].nodes.max", "write 2 or 3"),
        ("max: 2", "max: .inf", "pools[0].nodes.max", "write a finite number"),
        ("{min: 0, max: 2}", "3", "pools[0].nodes", "write `nodes: {min: 3, max: 3}`"),
        ("{min: 0, max: 2}", "[0, 2]", "pools[0].nodes", "its keys are min, max, expected"),
        ("max: 2}", "max: 2, desired: 1}", "pools[0].nodes.desired", "nearest: expected"),
        ("max: 2}", "max: 2, count: 1}", "pools[0].nodes.count", "write min and max"),
        ("name: chat", "name: Chat_1", "pools[0].name", "write chat-1"),
        ("\nbudget: {}", "\nbudget: 50", "budget", "write `budget: {usdPerHour: 50}`"),
        ("\nbudget: {}", "\nbudget: {usdPerHour: 50 USD}", "budget.usdPerHour", "write 50"),
        ("\nbudget: {}", "\nbudget: {usdPerMonth: 9}", "budget.usdPerMonth", "a month has 730"),
        ("sharing: {}", "sharing: mig", "pools[0].sharing", "write `sharing: {mig: {...}}`"),
        (
            "sharing: {}",
            "sharing: {timeSlicing: 4}",
            "pools[0].sharing.timeSlicing",
            "write `timeSlicing: {replicas: 4}`",
        ),
        ("capacity: []", "capacity: spot", "pools[0].capacity", "`capacity: [{spot: {...}}]`"),
        ("capacity: []", "capacity: [spot]", "pools[0].capacity[0]", "write `{spot: {...}}`"),
        ("capacity: []", "spot: true", "pools[0].spot", "capacity: [{spot: {}}]"),
        ("capacity: []", "capacityType: SPOT", "pools[0].capacityType", "[{spot: {}}]"),
        ("capacity: []", "capacityType: ON_DEMAND", "pools[0].capacityType", "[{onDemand: {}}]"),
        ("capacity: []", "reservation: r-1", "pools[0].reservation", "[{reserved: {id: ID}}]"),
        ("min: 0, max: 2}", "min: 0, max: 2}\n    minSize: 1", "pools[0].minSize", "nodes: {min"),
        ("disk: {}", "volumeSize: 100", "pools[0].volumeSize", "disk: {sizeGib: 200}"),
        ("disk: {}", "efaEnabled: true", "pools[0].efaEnabled", "fabric: efa"),
        ("sharing: {}", "sharing: {mps: {clients: 4}}", "pools[0].sharing.mps.clients", "replicas"),
        (
            "sharing: {}",
            "sharing: {mig: 1g.10gb}",
            "pools[0].sharing.mig",
            "write `mig: {layouts: [{devices: {1g.10gb: 1}}]}`",
        ),
        (
            "sharing: {}",
            "sharing: {mig: {layouts: {1g.10gb: 7}}}",
            "pools[0].sharing.mig.layouts",
            "write `layouts: [{devices: {1g.10gb: 7}}]`",
        ),
        (
            "sharing: {}",
            "sharing: {mig: {profile: 1g.10gb}}",
            "pools[0].sharing.mig.profile",
            "write layouts: [{devices: {1g.10gb: 7}}]",
        ),
        ("intent: x", "intent: serving", "pools[0].intent", "write inference"),
        ("intent: x", "intent: notebooks", "pools[0].intent", "write interactive"),
        ("disk: {}", "disk: 200Gi", "pools[0].disk", "its keys are sizeGib"),
        ("labels: {}", "labels: [a=b]", "pools[0].labels", "write a mapping"),
        ("labels: {}", "labels: {tier: 1}", "pools[0].labels.tier", 'in quotes: "1"'),
    ],
)
def test_a_wrong_key_or_value(right: str, wrong: str, path: str, fix: str) -> None:
    text = FLEET.replace(right, wrong)
    if text == FLEET:  # a key that the file does not have yet
        text = FLEET + ("" if wrong.startswith("\n") else "    ") + wrong.lstrip("\n") + "\n"
    found = [one for one in compile_document(text.encode()).findings if one.path == path]
    assert any(fix in (one.fix or "") for one in found), found


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("    gpu: L4", "\tgpu: L4", "line 6, column 1: a tab is not allowed here"),
        ("    gpu: L4", "   gpu: L4", "line 6, column 4: this line begins neither an item"),
        ("    gpu: L4", "     gpu: L4", "line 6, column 9: a `:` is not allowed here: indent"),
        ("gpu: L4", "gpu L4", "line 6, column 5: a `:` with a space after it is missing"),
        ("gpu: L4", "gpu:L4", "line 6, column 5: a `:` with a space after it is missing"),
        ("gpu: L4", "gpu: *l4", "line 6, column 10: `*` refers to a value with `&`"),
        ("max: 2}", "max: 2", "a `,` or the `}` is missing"),
        ("name: ml", "name: ${CLUSTER}", "is written in quotes"),
        ("gpu: L4", "gpu: L4\n    gpu: T4", "line 7: the key 'gpu' is written twice"),
        ("catalogue", "---\na: 1\n---\ncatalogue", "a second document starts here"),
        (FLEET, '{\n  // mine\n  "platform": "eks"\n}', "`//` and `/*` begin no comment"),
        (FLEET, '{"platform": ', "a value is missing or not complete here"),
        (FLEET, "- a\n", "the document is a list, not a mapping"),
    ],
)
def test_a_text_that_is_no_yaml(right: str, wrong: str, says: str) -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        compile_document(FLEET.replace(right, wrong).encode())
    assert says in str(caught.value)


def test_a_file_in_another_encoding() -> None:
    with pytest.raises(UnreadableDocumentError, match="save the file as UTF-8"):
        compile_document(FLEET.encode("utf-16"))


def test_a_manifest_has_one_finding_that_names_the_command_for_it() -> None:
    pod = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    (found,) = compile_document(pod).findings
    assert (found.path, found.severity.value) == ("kind", "error")
    assert "'Pod'" in found.message
    assert "`gpufleet audit FILE`" in (found.fix or "")


def test_a_folder_is_named_as_one(tmp_path: object) -> None:
    with pytest.raises(Exception, match="this is a folder, and a file is needed"):
        compile_source(str(tmp_path), None)

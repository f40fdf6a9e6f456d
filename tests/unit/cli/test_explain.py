"""`gpufleet explain`: what a person reads about each pool, and the picture of its GPUs."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpufleet.cli.explain import command
from gpufleet.cli.output import UnreadableInputError

STACK_FILE = str(Path(__file__).parents[3] / "stacks" / "Pulumi.sandbox-dev.yaml")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def refused(*arguments: str) -> str:
    result = run(*arguments)
    assert isinstance(result.exception, UnreadableInputError)
    return str(result.exception)


def test_every_pool_is_explained_and_its_gpus_are_drawn() -> None:
    result = run(STACK_FILE)
    assert (result.exit_code, result.stderr) == (0, "")
    for line in (
        "chat  inference, bought as onDemand",
        "nodes        3 to 4, 3 expected, provisioned by managed",
        "sharing      time-sliced, 4 per GPU",
        "nvidia.com/gpu.shared: 1   (4 per node",
        "nvidia.com/mig-3g.40gb: 1   (4 per node",
        "nvidia.com/gpu=present:NoSchedule",
        "driver: image",
        "placement verified (docs/partitioning.md)",
    ):
        assert line in result.stdout


def test_one_pool_alone() -> None:
    result = run(STACK_FILE, "notebooks")
    assert "sharing      MIG mixed: 28 x 1g.10gb" in result.stdout
    assert "chat" not in result.stdout


def test_a_guest_has_a_vgpu_and_no_whole_gpu_and_an_unknown_price_says_why(tmp_path: Path) -> None:
    guests = {
        "name": "guests",
        "gpu": "A100-80GB",
        "nodes": {"min": 2, "max": 2},
        "sharing": {"vgpu": {"profile": "grid_a100d-20c", "licenseSecret": "licence"}},
        "vsphere": {"cpus": 8, "memoryGib": 64, "template": "t", "attachment": "vgpu"},
    }
    driver = {"repository": "registry.example.com/nvidia", "version": "580.95.05"}
    operator = {"imagePullSecret": "registry", "driver": driver}
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "lab"},
        "addons": {"gpuOperator": operator},
        "pools": [guests],
    }
    file = tmp_path / "fleet.json"
    file.write_text(json.dumps(spec))
    text = run(str(file)).stdout
    assert "vsphere:guests: 1 x vGPU A100D-20C of A100-80GB" in text
    assert "GPU 0  A100-80GB  one vGPU A100D-20C" in text
    assert "whole" not in text
    assert "price        unknown: no price is known for vsphere:guests as onPrem" in text
    picture = tmp_path / "guests.svg"
    assert run(str(file), "guests", "--svg", str(picture)).exit_code == 0
    assert "whole" not in picture.read_text()


def test_json_holds_the_pools_as_compile_prints_them() -> None:
    document = json.loads(run(STACK_FILE, "training", "--format", "json").stdout)
    assert set(document) == {"pools", "idlePower", "findings"}
    assert [pool["name"] for pool in document["pools"]] == ["training"]
    assert document["pools"][0]["advertised"] == {"nvidia.com/gpu": 8}


def test_the_picture_is_a_drawing_of_every_slot(tmp_path: Path) -> None:
    file = tmp_path / "notebooks.svg"
    assert run(STACK_FILE, "notebooks", "--svg", str(file)).exit_code == 0
    root = ElementTree.parse(file).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("3g.40gb" in text for text in texts)
    assert any("Pool notebooks" in text for text in root.itertext())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("nobody",),
            "there is no pool 'nobody' among those that compile: chat, notebooks, training",
        ),
        (("--svg", "x.svg"), "--svg draws one pool, name it: chat, notebooks, training"),
        (("chat", "--svg", "/nowhere/x.svg"), "/nowhere/x.svg: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    assert refused(STACK_FILE, *arguments) == said


def test_the_errors_of_a_pool_come_before_the_pools_that_compile(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    pools = (
        "[{name: a, gpu: L4, nodes: {min: 0, max: 0}}, {name: b, gpu: L4, nodes: {min: 0, max: 1}}]"
    )
    cluster = "cluster: {name: x}"
    fleet.write_text(f'catalogue: "2026.11"\nplatform: sandbox\n{cluster}\npools: {pools}\n')
    assert refused(str(fleet), "a") == "there is no pool 'a' among those that compile: b"
    assert "pools[0].nodes.max: 0 is not at least 1" in run(str(fleet), "a").stderr


def test_what_a_pod_asks_for_is_what_its_fragment_says(tmp_path: Path) -> None:
    """Jobs over several nodes take a whole one, and so do TPUs, which are no GPUs."""
    spec = tmp_path / "fleet.yaml"
    pool = "{name: slice, instanceTypes: [ct5lp-hightpu-4t], nodes: {min: 0, max: 4}"
    spec.write_text(
        'catalogue: "2026.11"\nplatform: gke\ncluster: {name: ml, region: us-central1}\n'
        f"pools: [{pool}, zones: [us-central1-a], gke: {{tpuTopology: 4x4}}}}]\n"
    )
    output = run(str(spec)).output
    for line in ("google.com/tpu: 4   (4 per node)", "whole devices", "Devices of one node"):
        assert line in output
    assert "GPUs of one node" not in output


@pytest.mark.parametrize(
    "file", sorted(Path(STACK_FILE).parent.glob("Pulumi.*.yaml")), ids=lambda file: file.stem
)
def test_stacks_of_every_platform_are_explained(file: Path) -> None:
    result = run(str(file))
    assert (result.exit_code, result.exception) == (0, None), result.output
    if file.stem == "Pulumi.openshift-lab":
        assert "Red Hat's Node Feature Discovery Operator" in result.stdout

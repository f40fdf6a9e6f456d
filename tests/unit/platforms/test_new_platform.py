"""A platform is one folder and a few lines elsewhere: a made-up one is added to a copy of the tree.

`EDITS` are all lines outside its folder and its part of the FleetSpec. A platform with its own
connection, or with public components, edits `gpu_fleet.py` and `gpufleet/public_names.csv` as well:
8 files at most.
"""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.unit.copied_tree import apply_edits, copy_tree, gpufleet, python

MADE_UP = Path(__file__).parent / "made_up"
FOLDER = "components/gpufleet/platforms/rack"
OPTIONS = "components/gpufleet/spec/platforms/rack.py"

IMAGE = {
    "key": "rack-linux",
    "platform": "rack",
    "architectures": ["amd64"],
    "driver": False,
    "toolkit": False,
    "device_plugin": False,
    "efa": False,
    "operator_may_install_driver": True,
    "operator_supported": True,
    "notes": "made up",
    "source": "cloud-native-docs",
}

EDITS = (
    (
        "components/gpufleet/spec/base.py",
        '    SANDBOX = "sandbox"\n',
        '    RACK = "rack"\n    SANDBOX = "sandbox"\n',
    ),
    (
        "components/gpufleet/spec/pool.py",
        "from gpufleet.spec.platforms.vsphere import VsphereOptions\n",
        (
            "from gpufleet.spec.platforms.rack import RackOptions\n"
            "from gpufleet.spec.platforms.vsphere import VsphereOptions\n"
        ),
    ),
    (
        "components/gpufleet/spec/pool.py",
        "    vsphere: VsphereOptions | None = None\n",
        "    rack: RackOptions | None = None\n    vsphere: VsphereOptions | None = None\n",
    ),
    (
        "components/gpufleet/platforms/registry.py",
        "    for one in (\n",
        '    for one in (\n        PlatformValue(Platform.RACK, "gpufleet.platforms.rack"),\n',
    ),
    (
        "components/gpufleet/catalogue/data/2026.11/images.jsonl",
        '{"key": "al2023-nvidia"',
        json.dumps(IMAGE) + '\n{"key": "al2023-nvidia"',
    ),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with the platform."""
    made = copy_tree(tmp_path_factory.mktemp("tree"))
    shutil.copytree(MADE_UP, made / FOLDER, ignore=shutil.ignore_patterns("options.py", "*.yaml"))
    shutil.copy(MADE_UP / "options.py", made / OPTIONS)
    apply_edits(made, EDITS)
    return made


def test_eight_files_at_most_are_edited() -> None:
    assert len({name for name, _, _ in EDITS}) + 2 <= 8


def test_a_fleet_on_it_compiles(tree: Path) -> None:
    ran = gpufleet(tree, "compile", str(MADE_UP / "fleet.yaml"), "--format", "json")
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert [finding["code"] for finding in result["findings"]] == ["rack-full"]
    (pool,) = result["fleet"]["pools"]
    assert pool["machines"][0]["vcpu"] == 128
    assert pool["labels"]["rack.example.com/row"] == "a"
    assert result["fleet"]["addons"]["networkOperator"]["enabled"] is True


def test_its_options_belong_to_no_other_platform(tree: Path, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(
        (MADE_UP / "fleet.yaml").read_text().replace("platform: rack", "platform: eks")
    )
    ran = gpufleet(tree, "compile", str(fleet), "--format", "json")
    codes = [finding["code"] for finding in json.loads(ran.stdout)["findings"]]
    assert ran.returncode == 1
    assert "options-of-other-platform" in codes


def test_its_files_are_rendered_and_audited(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = gpufleet(tree, "render", str(MADE_UP / "fleet.yaml"), "--out", str(out))
    assert ran.returncode == 0, ran.stderr
    order = yaml.safe_load((out / "racks/training.yaml").read_text())
    assert order["machines"] == 9
    pod = (out / "pods/training.yaml").read_text()
    assert "rack.example.com/row: a" in pod
    audited = gpufleet(tree, "audit", str(out), str(MADE_UP / "fleet.yaml"))
    assert audited.returncode == 1, audited.stderr
    assert "gpu-budget-missing" in audited.stdout
    assert "no price is known for rack:training as onPrem" in audited.stdout


PROGRAM = """
import sys, yaml, pulumi
from pulumi.runtime import mocks

class Echo(mocks.Mocks):
    def new_resource(self, args):
        print(args.typ, args.name)
        return args.name, args.inputs

    def call(self, args):
        return {}

mocks.set_mocks(Echo())
from gpufleet import GpuFleet

@pulumi.runtime.test
def program():
    GpuFleet("fleet", {"spec": yaml.safe_load(open(sys.argv[1]))})

program()
"""


def test_its_resources_are_registered(tree: Path) -> None:
    ran = python(tree, "-c", PROGRAM, str(MADE_UP / "fleet.yaml"))
    assert ran.returncode == 0, ran.stderr
    assert "gpufleet:index:RackPool fleet-training" in ran.stdout
    assert "kubernetes:core/v1:ConfigMap fleet-training-order" in ran.stdout

"""Each stack of the repository previews unchanged, given those of docs/what-must-exist.md.

The prerequisites are created here from the page's own text: the stack that it shows, a kubeconfig.
Charts are the sandbox's copies, because their repositories are not reachable here.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clouds import Clouds
from tests.engine.conftest import Project
from tests.engine.sandbox_stack import ROOT, config_as_shipped, stack_files, write_config
from tests.engine.test_gke_examples import CHARTS
from tests.examples import at_night

PAGE = (ROOT / "docs" / "what-must-exist.md").read_text("utf-8")
FILES = sorted(file.name for file in (ROOT / "stacks").glob("Pulumi.*.yaml"))
ELSEWHERE = {
    "Pulumi.vsphere-lab.yaml": "tests/engine/vsphere/test_lab.py",
    "languages/python": "tests/engine/test_examples.py",
    "workloads": "tests/engine/test_examples.py",
    "serving": "tests/engine/test_examples.py",
    "workload-kinds": "tests/engine/test_recorded_state.py",
    "wasteful": "tests/engine/test_policies.py",
    "languages/yaml": "tests/engine/test_yaml_consumer.py",
    "languages/typescript": "tests/engine/vsphere/test_other_languages.py",
    "languages/go": "tests/engine/vsphere/test_other_languages.py",
    "existing-nodes": "tests/engine/test_existing.py",
    "eks-from-nothing": "tests/engine/test_from_nothing.py",
    "gke-from-nothing": "tests/engine/test_from_nothing.py",
    "gke-gpudirect": "tests/engine/test_from_nothing.py",
    "eks-pools": "tests/engine/test_eks_examples.py",
    "eks-pools/another-stack": "tests/engine/test_eks_examples.py",
    "gke-pools": "tests/engine/test_gke_examples.py",
    "gke-pools/time-sharing": "tests/engine/test_gke_examples.py",
    "openshift-gpu-pools": "tests/engine/test_openshift.py",
    "vsphere-gpu-modes": "tests/engine/vsphere/test_vsphere_examples.py",
    "vsphere-gpu-modes/mig-backed-vgpu": "tests/unit/components/test_vsphere_examples.py",
}
"""Stack or example -> the test that previews or deploys it, where that is not this one."""


def test_each_stack_and_example_is_previewed_by_a_test() -> None:
    folders = (file.parent for file in ROOT.glob("examples/**/Pulumi.yaml"))
    examples = {folder.relative_to(ROOT / "examples").as_posix() for folder in folders}
    assert examples == {name for name in ELSEWHERE if not name.startswith("Pulumi.")}
    for name, test in ELSEWHERE.items():
        kept = (ROOT / test).read_text("utf-8") + (ROOT / "tests/engine/go_module.py").read_text()
        said = name.removesuffix(".yaml").partition("Pulumi.")[2] or name
        assert re.search(rf"[\"/ ]{re.escape(said)}\b", kept), (name, test)


PREVIEWED = [name for name in FILES if name not in ELSEWHERE]
ALWAYS = ("Pulumi.eks-dev.yaml", "Pulumi.openshift-lab.yaml")
"""One with the stack of its cluster, one with a kubeconfig. `test_recorded_state.py` previews the
others, with settings of its own, `test_eks.py` and `test_gke.py` deploy two."""


@pytest.mark.parametrize(
    "file",
    [*ALWAYS, *at_night(*sorted({*PREVIEWED} - {*ALWAYS}), changed="stacks/*")],
)
def test_a_stack_previews_as_it_is(
    cloud_cluster_project: Callable[..., Any],
    clouds: Clouds,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    file: str,
) -> None:
    config = config_as_shipped(file)
    fleet, connection = config["gpufleet:fleet"], config.get("gpufleet:connection", {})
    project: Project = cloud_cluster_project(stack_files(), name="gpufleet")
    kubeconfig = Path(project.engine.env["KUBECONFIG"]).read_text()
    if "clusterStack" in connection:
        _cluster_stack(project, cloud_cluster_project, clouds, fleet, connection, kubeconfig)
    elif "kubeconfig" in connection:
        home = tmp_path / "home"
        place = home / connection["kubeconfig"].removeprefix("~/")
        place.parent.mkdir(parents=True)
        place.write_text(kubeconfig)
        project.engine.env["HOME"] = str(home)
    fleet.setdefault("addons", {})["charts"] = {"source": {"folder": CHARTS}}
    write_config(project.folder / "stacks" / f"Pulumi.{project.stack}.yaml", config)
    project.run("preview")
    assert clouds.calls("create") == []


def _cluster_stack(
    project: Project,
    make: Callable[..., Any],
    clouds: Clouds,
    fleet: dict[str, Any],
    connection: dict[str, Any],
    kubeconfig: str,
) -> None:
    """The stack that the page shows, with values of the simulated cloud."""
    (program,) = re.findall(r"^```python\n# cluster/__main__.py\n(.*?)^```", PAGE, re.M | re.S)
    _, name, stack = connection["clusterStack"].split("/")
    networks = connection.get("gpuNetworks", {}).values()
    given: dict[str, Any] = {
        "kubeconfig": kubeconfig,
        "nodeServiceAccount": "nodes@acme-ml.iam.gserviceaccount.com",
        **{one: f"projects/p/{one}" for network in networks for one in network.values()},
    }
    if fleet["platform"] == "eks":
        cluster = clouds.eks_cluster(fleet["cluster"]["name"])
        subnets = cluster.pop("subnetIdsByZone")
        zones = connection["subnetIdsByZone"].items()
        given |= cluster | {output: subnets[zone] for zone, output in zones}
    other = make({"__main__.py": program, "outputs.yaml": yaml.safe_dump(given)}, name=name)
    other.engine.stack_init(stack)
    other.engine.up(stack, **project.options)

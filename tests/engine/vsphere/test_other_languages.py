"""Programs in TypeScript and Go with the generated SDKs, by the Automation API: a fleet on the
control plane and a group of machines on vCenter. The process is the program, so no language host
is needed. A YAML program with the same group: `test_own_plugin.py`; with a fleet:
`test_yaml_consumer.py`."""

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from gpufleet.hosting import ComponentHost
from release.sdks import LANGUAGES, NotCompiledError
from tests.engine.conftest import require, unique_name
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter

ROOT = Path(__file__).parents[3]
EXAMPLES = {
    "typescript": ROOT / "examples" / "languages/typescript",
    "go": ROOT / "examples" / "languages/go",
}
SOURCES = {"typescript": "index.ts", "go": "main.go"}
IMPORTS = {
    "typescript": {
        'import * as kubernetes from "@pulumi/kubernetes"': (
            'import * as pulumi from "@pulumi/pulumi"'
        ),
        "{ GpuFleet }": "{ VsphereGpuNodeGroup }",
    },
    "go": {
        '"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"': '"strconv"',
    },
}
"""Replacement of the example's import in a program with a group."""
GROUP = {
    "typescript": """
async function program() {
    const group = new VsphereGpuNodeGroup("pool", {
        catalogue: "2026.11",
        pool: {
            name: "train",
            gpu: "A100-80GB",
            nodes: { min: 2, max: 2 },
            vsphere: { cpus: 8, memoryGib: 64, template: "gpu-template" },
        },
        connection: {
            server: "127.0.0.1",
            port: Number(process.env.VCENTER_PORT),
            plainHttp: true,
            datacenter: "DC0",
            computeCluster: "DC0_C0",
            join: {
                method: "rke2",
                endpoint: "https://10.0.0.10:9345",
                token: pulumi.secret(process.env.TOKEN!),
            },
        },
    });
    return { names: group.nodeNames, uuids: group.instanceUuids };
}

""",
    "go": """
func program(ctx *pulumi.Context) error {
	port, err := strconv.Atoi(os.Getenv("VCENTER_PORT"))
	if err != nil {
		return err
	}
	token := pulumi.ToSecret(pulumi.String(os.Getenv("TOKEN"))).(pulumi.StringOutput)
	group, err := gpufleet.NewVsphereGpuNodeGroup(ctx, "pool", &gpufleet.VsphereGpuNodeGroupArgs{
		Catalogue: "2026.11",
		Pool: gpufleet.GpuPoolArgsArgs{
			Name:  "train",
			Gpu:   pulumi.StringRef("A100-80GB"),
			Nodes: gpufleet.NodesArgsArgs{Min: 2, Max: 2},
			Vsphere: &gpufleet.VsphereOptionsArgsArgs{
				Cpus: 8, MemoryGib: 64, Template: "gpu-template",
			},
		},
		Connection: gpufleet.VsphereConnectionArgsArgs{
			Server:         "127.0.0.1",
			Port:           pulumi.IntRef(port),
			PlainHttp:      pulumi.BoolRef(true),
			Datacenter:     "DC0",
			ComputeCluster: "DC0_C0",
			Join: &gpufleet.VsphereJoinArgsArgs{
				Method:   "rke2",
				Endpoint: pulumi.String("https://10.0.0.10:9345"),
				Token:    token.ToStringPtrOutput(),
			},
		},
	})
	if err != nil {
		return err
	}
	ctx.Export("names", group.NodeNames)
	ctx.Export("uuids", group.InstanceUuids)
	return nil
}

""",
}
"""The program of an example with a group of machines in the place of a fleet."""


@pytest.fixture(scope="session")
def sdks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the generated SDKs, before anything is compiled."""
    generator = require(("pulumi-sdks",))["pulumi-sdks"]
    folder = tmp_path_factory.mktemp("sdks")
    package = runpy.run_path(str(ROOT / "components"))
    host = ComponentHost(package["COMPONENTS"], package["NAME"], package["VERSION"])
    schema = folder / "schema.json"
    schema.write_text(host.schema or "")
    subprocess.run([str(generator), str(schema), str(folder)], check=True)
    return folder


@pytest.fixture(scope="session")
def typescript(sdks: Path) -> Path:
    """The package as npm takes it."""
    (package,) = _compiled("nodejs", sdks).glob("*-0.1.0.tgz")
    return package


@pytest.fixture(scope="session")
def go(sdks: Path) -> Path:
    """The module's folder."""
    _compiled("go", sdks)
    return sdks / "go" / "gpufleet"


def _compiled(language: str, sdks: Path) -> Path:
    dist = sdks / f"dist-{language}"
    dist.mkdir()
    try:
        LANGUAGES[language](sdks / language, "0.1.0", dist)
    except NotCompiledError as reason:
        pytest.skip(str(reason))
    return dist


@pytest.fixture(params=["typescript", "go"])
def language(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def program(
    language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[..., dict[str, Any]]]:
    """Builds an example and runs it; afterwards it is destroyed."""
    sdk = request.getfixturevalue(language)
    folder = tmp_path / language
    shutil.copytree(EXAMPLES[language], folder)
    project = (folder / "Pulumi.yaml").read_text()
    assert "path: ../../../components" in project
    (folder / "Pulumi.yaml").write_text(
        project.replace("../../../components", f"{ROOT}/components")
    )
    commands: list[list[str]] = []
    stack = unique_name(request)
    given: dict[str, str] = {}

    def run(environment: Mapping[str, str], group: bool = False) -> dict[str, Any]:
        given.update(environment, STACK=stack)
        if group:
            _with_group(folder / SOURCES[language], language)
        commands.append(BUILD[language](folder, sdk))
        output = _done(commands[0], folder, given)
        return json.loads(output.splitlines()[-1])

    yield run
    _done([*commands[0], "destroy"], folder, given)


def _with_group(file: Path, language: str) -> None:
    text = file.read_text()
    for before, after in IMPORTS[language].items():
        assert before in text
        text = text.replace(before, after)
    begin = re.search(r"^(async function|func) program", text, re.MULTILINE)
    end = re.search(r"^(async function main|func run)", text, re.MULTILINE)
    assert begin is not None
    assert end is not None
    file.write_text(text[: begin.start()] + GROUP[language].lstrip() + text[end.start() :])


def _build_typescript(folder: Path, sdk: Path) -> list[str]:
    npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    _done([*npm, str(sdk)], folder)
    _done(["npm", "run", "--silent", "build"], folder)
    return ["node", "bin/index.js"]


def _build_go(folder: Path, sdk: Path) -> list[str]:
    module = f"gpufleet.dev/sdk/go/gpufleet={sdk}"
    _done(["go", "mod", "edit", "-replace", module], folder)
    _done(["go", "mod", "tidy"], folder)
    _done(["go", "build", "-trimpath", "-o", "program", "."], folder)
    return [str(folder / "program")]


BUILD: dict[str, Callable[[Path, Path], list[str]]] = {
    "typescript": _build_typescript,
    "go": _build_go,
}
"""Language -> builds the program in a folder with an SDK, and returns the command that runs it."""


def _done(command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-6000:])
    return done.stdout


@pytest.mark.timeout(1800)
def test_a_fleet(program: Callable[..., Any], language: str, sandbox: Any, cluster: Any) -> None:
    outputs = program(sandbox.environment())
    assert outputs == {
        "advertised": {"notebooks": {"nvidia.com/mig-1g.10gb": 56}},
        "usdPerHour": "54.8941",
    }
    node = client.CoreV1Api(cluster).read_node(f"from-{language}-notebooks-0")
    assert node.metadata.labels["gpufleet.dev/pool"] == "notebooks"


@pytest.mark.timeout(1800)
def test_a_group_of_machines(
    program: Callable[..., Any], cloud: Vcenter, engine_environment: dict[str, str]
) -> None:
    settings = {
        "VSPHERE_USER": USER,
        "VSPHERE_PASSWORD": PASSWORD,
        "VCENTER_PORT": str(cloud.proxy.port),
        "TOKEN": SECRET,
    }
    outputs = program({**engine_environment, **settings}, group=True)
    assert outputs["names"] == ["gpu-train-0", "gpu-train-1"]
    assert len(set(outputs["uuids"])) == len(cloud.owned()) == 2

"""The program of README.md: what it needs is named, its fleet compiles, a new pack accepts it."""

import ast
import json
import re
from pathlib import Path

from click.testing import CliRunner

from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.commands.audit import command as audit

ROOT = Path(__file__).parents[2]
USE_IT = (ROOT / "README.md").read_text().partition("## Use it")[2].partition("\n## ")[0]


def test_it_installs_the_provider_of_the_sandbox() -> None:
    pinned = re.search(
        r"^pulumi-kubernetes==(\S+)", (ROOT / "requirements/constraints.txt").read_text(), re.M
    )
    assert pinned is not None
    assert f"pulumi-kubernetes=={pinned[1]} " in USE_IT
    commands = ["pip install", "> Pulumi.yaml", "gpufleet sandbox up", "pulumi stack init"]
    places = [USE_IT.index(command) for command in commands]
    assert places == sorted(places)


def test_its_fleet_compiles_and_its_path_is_absolute(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", USE_IT, re.S)
    values = {
        target.id: node.value
        for node in ast.parse(program).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    spec = ast.literal_eval(values["spec"])
    assert compile_data(spec).deployable
    # `gpufleet policies init` writes a pack with the levels of `prod`: it accepts the program.
    (tmp_path / "fleet.yaml").write_text(json.dumps(spec))
    audited = CliRunner().invoke(audit, [str(tmp_path), "--profile", "prod", "--format", "json"])
    found = json.loads(audited.stdout)["findings"]
    assert [one["code"] for one in found if one["level"] == "mandatory"] == []
    assert audited.exit_code == 0
    # A relative path is not a kubeconfig to the provider: `.sandbox/env` gives the whole one.
    assert ast.unparse(values["cluster"]).endswith("kubeconfig=os.environ['KUBECONFIG'])")

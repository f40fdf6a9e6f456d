"""A project made by `pulumi new` from `templates/gpufleet-python` deploys unchanged."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

TEMPLATE = Path(__file__).parents[2] / "templates" / "gpufleet-python"
OWN_ENVIRONMENT = "  options:\n    toolchain: pip\n    virtualenv: .venv\n"
"""Left out here: the environment of the tests takes its place."""


def test_a_new_project_deploys(
    cluster_project: Callable[..., Any], sandbox: Any, tmp_path: Path
) -> None:
    made = tmp_path / "new"
    command = ["pulumi", "new", str(TEMPLATE), "--generate-only", "--yes", "--offline"]
    subprocess.run(
        [*command, "--name", "ours", "--description", "Our GPUs", "--dir", str(made)],
        env=dict(sandbox.environment()),
        check=True,
        capture_output=True,
        timeout=60,
    )
    files = {file.name: file.read_text() for file in made.iterdir()}
    assert OWN_ENVIRONMENT in files["Pulumi.yaml"]
    files["Pulumi.yaml"] = files["Pulumi.yaml"].replace(OWN_ENVIRONMENT, "")
    project = cluster_project(files, name="ours")
    config = {"gpufleet:kubeconfig": str(sandbox.kubeconfig)}

    result = project.run("up", config=config)

    assert result.status == 0
    assert result.changes["create"] > 5
    project.run("up", "--expect-no-changes", config=config)


def test_without_a_kubeconfig_the_missing_setting_is_named(
    cluster_project: Callable[..., Any],
) -> None:
    files = {
        name: (TEMPLATE / name).read_text().replace("${PROJECT}", "ours")
        for name in ("__main__.py", "fleet.yaml")
    }
    result = cluster_project(files, name="ours").run("preview", check=False)
    assert result.status != 0
    assert "gpufleet:kubeconfig" in result.output

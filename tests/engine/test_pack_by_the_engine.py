"""The policy pack under the real engine has the results of its function when tests call it.

Every Kubernetes object of the case tables is a resource of one program. The provider writes YAML
into a folder: nothing is sent to the cluster.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpufleet_policies.fronts.crossguard import Front
from tests.engine.conftest import Project
from tests.policies.cases import CASES
from tests.policies.differential.fronts import asked_of_the_pack
from tests.policies.differential.samples import Sample

PACK = Path(__file__).parents[2] / "policies"
SETTINGS = {"profile": "strict"}
PROGRAM = """
import json, os, pulumi, pulumi_kubernetes as kubernetes

os.environ.pop("KUBECONFIG")  # the provider takes it or a folder
files = kubernetes.Provider("files", render_yaml_to_directory="rendered")
for kind, name, properties in json.load(open("things.json")):
    pulumi.CustomResource(kind, name, properties, pulumi.ResourceOptions(provider=files))
"""


def program() -> Sample:
    """All objects of the case tables, each with its own name."""
    objects = [one for case in CASES for one in (case.good, case.bad) if one.is_manifest]
    things = []
    for number, one in enumerate(objects):
        name = f"{one.name}-{number}"
        metadata = {**one.properties.get("metadata", {}), "name": name}
        things.append(replace(one, name=name, properties={**one.properties, "metadata": metadata}))
    return Sample("everything", "policies", "", None, {}, tuple(things), SETTINGS)


def rule_and_object(message: str) -> tuple[str, str]:
    """`[rule] Kind namespace/name, place: ...`: the order of registration decides the rest.

    The provider adds the namespace `default` to a kind that the cluster does not know, so to a
    `Queue` only where no other test has installed its CRD before.
    """
    found = re.match(r"\[([a-z0-9-]+)\] (\S+ \S+?)(?:[,:] |\n)", message)
    assert found is not None, message
    return found[1], found[2].replace(" default/", " ")


def test_the_engine_reports_what_the_pack_reports(
    cluster_project: Callable[..., Project], tmp_path: Path
) -> None:
    sample = program()
    assert len(sample.resources) >= 60
    things = [(one.type, one.name, one.properties) for one in sample.resources]
    made = cluster_project({"__main__.py": PROGRAM, "things.json": json.dumps(things)})
    options = tmp_path / "options.json"
    options.write_text(json.dumps({"gpufleet-settings": SETTINGS}))
    result = made.run("preview", "--policy-pack-config", str(options), policies=[PACK], check=False)
    assert result.changes.get("create", 0) >= len(things), result.output[-3000:]
    (tmp_path / "gpu-policy.json").write_text(json.dumps(SETTINGS))

    def front() -> Front:
        one = Front(tmp_path, today=lambda: datetime.now(UTC).date())
        one.configure_stack(made.stack)  # its name contains the environment
        return one

    def said(found: list[Any]) -> set[tuple[str, ...]]:
        return {(one.level.value, *rule_and_object(one.message)) for one in found}

    in_order, last = (said(found) for found in asked_of_the_pack(sample, front()))
    first = [replace(sample, resources=(one,)) for one in sample.resources]
    alone = {row for one in first for row in said(asked_of_the_pack(one, front())[0])}
    parts = [re.fullmatch(r"\[(\w+)\] [^:]*?/[^:]*: (.*)", one, re.S) for one in result.violations]
    reported = {(one[1], *rule_and_object(one[2])) for one in parts if one is not None}
    assert None not in parts
    # What is next to a resource depends on the order of registration, which the engine chooses.
    more, fewer = reported - (alone | in_order | last), (last | (alone & in_order)) - reported
    assert (more, fewer) == (set(), set())
    assert len({rule for _, rule, _ in reported}) >= 40

"""An overlay in the program of `stacks/`: a preview plans with it, or names every problem of it."""

import yaml

from tests.engine.sandbox_stack import Stack

RIGHT = {
    "date": "2026-11-20",
    "source": "Announcement",
    "instances": [
        {
            "cloud": "aws",
            "name": "g9.4xlarge",
            "family": "g9",
            "architecture": "amd64",
            "vcpu": 16,
            "memoryGib": 128,
            "gpu": "L4",
            "count": 1,
        }
    ],
    "prices": [{"instance": "g9.4xlarge", "buy": "onDemand", "region": "us-east-1", "usd": "1.81"}],
}


def test_a_preview_plans_with_an_overlay_or_names_every_problem_of_it(stack: Stack) -> None:
    """The path counts from the folder of the program: `main` of Pulumi.yaml."""
    file = stack.project.folder / "stacks" / "facts.yaml"
    stack.fleet["catalogueOverlay"] = "facts.yaml"
    stack.fleet["pools"] = [
        {"name": "chat", "instanceTypes": ["g9.4xlarge"], "nodes": {"min": 1, "max": 2}}
    ]
    stack.save()

    file.write_text(yaml.safe_dump(RIGHT))
    planned = stack.project.run("preview")
    assert "maximumUsdPerHour" in planned.output
    assert "3.62" in planned.output

    wrong = {**RIGHT, "date": "soon", "machines": [], "gpus": [{"key": "X1"}]}
    file.write_text(yaml.safe_dump(wrong))
    refused = stack.project.run("preview", check=False)
    assert refused.status != 0
    for place in ("facts.yaml.date", "facts.yaml.machines", "facts.yaml.gpus[0].name"):
        assert place in refused.output
    assert "Traceback" not in refused.output

"""The real engine runs Python programs, policy packs, components and dynamic resources."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox.engine import EngineError
from tests.engine.waiting import until

COMPONENTS = """
    import pulumi

    class Rack(pulumi.ComponentResource):
        def __init__(self, name, opts=None):
            super().__init__("demo:index:Rack", name, {}, opts)
            self.register_outputs({"name": name})

    first = Rack("first")
    Rack("second", pulumi.ResourceOptions(parent=first))
    pulumi.export("project", pulumi.get_project())
    pulumi.export("stack", pulumi.get_stack())
    pulumi.export("organization", pulumi.get_organization())
    pulumi.export("size", pulumi.Config().get("size"))
    pulumi.export("token", pulumi.Config().get_secret("token"))
"""

DYNAMIC = """
    import pulumi
    from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

    LOG = "{log}"

    class Provider(ResourceProvider):
        def create(self, props):
            open(LOG, "a").write("create " + props["size"] + "\\n")
            return CreateResult("id-1", dict(props))
        def diff(self, id, olds, news):
            return DiffResult(changes=olds["size"] != news["size"])
        def update(self, id, olds, news):
            open(LOG, "a").write("update " + news["size"] + "\\n")
            return UpdateResult(dict(news))
        def delete(self, id, props):
            open(LOG, "a").write("delete " + props["size"] + "\\n")

    class Thing(Resource):
        def __init__(self, name, size):
            super().__init__(Provider(), name, {{"size": size}})

    Thing("thing", pulumi.Config().require("size"))
"""

PACK = {
    "PulumiPolicy.yaml": "runtime: python\n",
    "__main__.py": """
        from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

        def no_second(args, report):
            if args.name == "second":
                report("a second rack is one too many")

        PolicyPack("racks", [ResourceValidationPolicy(
            "one-rack", "One rack is enough", no_second, EnforcementLevel.MANDATORY)])
    """,
}

TINY = {
    "PulumiPlugin.yaml": "runtime: python\n",
    "__main__.py": """
        from typing import TypedDict

        import pulumi
        from pulumi.provider.experimental import component_provider_host

        class PoolArgs(TypedDict):
            size: pulumi.Input[str]

        class Pool(pulumi.ComponentResource):
            label: pulumi.Output[str]

            def __init__(self, name: str, args: PoolArgs,
                         opts: pulumi.ResourceOptions | None = None) -> None:
                super().__init__("tiny:index:Pool", name, {}, opts)
                self.label = pulumi.Output.concat("size-", args["size"])
                self.register_outputs({"label": self.label})

        if __name__ == "__main__":
            component_provider_host(name="tiny", components=[Pool], version="1.2.3")
    """,
}

WAITING = """
    import time
    print("program waits", flush=True)
    time.sleep(300)
"""


def test_a_program_is_deployed_found_unchanged_and_destroyed(project: Any) -> None:
    demo = project({"__main__.py": COMPONENTS})
    demo.engine.call(["config", "set", "--secret", "token", "hush", "-s", demo.stack]).checked()
    assert demo.run("preview", config={"size": "8"}).changes == {"create": 3}
    up = demo.run("up")
    assert up.changes == {"create": 3}
    assert [urn.rsplit("::", 1)[1] for _, urn in up.steps] == [
        f"demo-{demo.stack}",
        "first",
        "second",
    ]
    assert demo.engine.outputs(demo.stack) == {
        "project": "demo",
        "stack": demo.stack,
        "organization": "organization",
        "size": "8",
        "token": "[secret]",
    }
    assert "hush" not in str(demo.engine.state(demo.stack))
    assert demo.run("up", "--expect-no-changes").changed == 0
    assert demo.run("destroy").changes == {"delete": 3}
    assert demo.engine.state(demo.stack).get("resources", []) == []


def test_a_program_error_is_shown_once_from_the_programs_first_line_on(project: Any) -> None:
    demo = project(
        {
            "__main__.py": "import racks\nracks.build()\n",
            "racks.py": "def build():\n    raise ValueError('no such rack')\n",
        }
    )
    with pytest.raises(EngineError, match="no such rack") as caught:
        demo.run("up")
    result = caught.value.result
    (error,) = result.errors
    assert error.count("Traceback") == 1
    assert [line.strip() for line in error.splitlines() if line.strip().startswith("File")] == [
        f'File "{demo.folder}/__main__.py", line 2, in <module>',
        f'File "{demo.folder}/racks.py", line 2, in build',
    ]
    assert "exit status" not in result.output


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ("import sys; sys.exit(3)", "the program ended with exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("def broken(:", "SyntaxError: invalid syntax"),
        ("import pulumi\nraise pulumi.RunError('choose a rack')", "choose a rack"),
        (
            "import pulumi\npulumi.Output.from_input(0).apply(lambda n: 1 / n)",
            "ZeroDivisionError: division by zero",
        ),
    ],
)
def test_each_way_to_fail_is_named(project: Any, program: str, error: str) -> None:
    demo = project({"__main__.py": program})
    result = demo.run("preview", check=False)
    assert result.status != 0
    assert len(result.errors) == 1
    assert error in result.errors[0]


def test_a_missing_environment_is_named_with_the_remedy(project: Any) -> None:
    demo = project(
        {
            "__main__.py": "",
            "Pulumi.yaml": "name: demo\n"
            "runtime: {name: python, options: {virtualenv: absent}}\nmain: program\n",
            "program/__main__.py": "",
        }
    )
    result = demo.run("preview", check=False)
    assert result.status != 0
    assert f"virtual environment {demo.folder}/absent does not exist" in result.errors[0]
    assert "pulumi install" in result.errors[0]


def test_the_projects_environment_runs_the_program(project: Any) -> None:
    environment = Path(pytest.__file__).parents[4]
    demo = project(
        {
            "Pulumi.yaml": "name: demo\nruntime: {name: python, options: {virtualenv: env}}\n"
            "main: program\n",
            "program/__main__.py": "import pulumi, sys\npulumi.export('prefix', sys.prefix)\n"
            "pulumi.export('path', [p for p in sys.path if 'language_host' in p])\n",
        }
    )
    (demo.folder / "env").symlink_to(environment)
    demo.run("up")
    outputs = demo.engine.outputs(demo.stack)
    assert Path(outputs["prefix"]).resolve() == environment
    assert outputs["path"] == [], "the host's own modules must not shadow the program's"


@contextmanager
def waiting_preview(demo: Any, output: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """The engine in the middle of a preview whose program waits; its output goes to the file."""
    with output.open("wb") as file:
        engine = subprocess.Popen(
            ["pulumi", "preview", "-s", demo.stack, "--non-interactive"],
            cwd=demo.folder,
            env=demo.engine.env,
            stdout=file,
            stderr=file,
            process_group=0,
        )
    with engine:
        try:
            until(lambda: "program waits" in output.read_text(), output.read_text)
            yield engine
        finally:
            engine.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_engine_leaves_no_process(
    project: Any, tmp_path: Path, number: signal.Signals, processes_of_host: Any
) -> None:
    demo = project({"__main__.py": WAITING})
    output = tmp_path / "output"
    with waiting_preview(demo, output) as engine:
        until(lambda: len(processes_of_host()) == 2, processes_of_host)  # host and program
        engine.send_signal(number)
        status = engine.wait(timeout=120)  # the program itself would wait for five minutes
    assert status != 0
    until(lambda: not processes_of_host(), "host and program have left")
    assert "Traceback" not in output.read_text()


def test_killing_the_host_alone_ends_the_program(
    project: Any, tmp_path: Path, processes_of_host: Any
) -> None:
    import psutil

    demo = project({"__main__.py": WAITING})
    output = tmp_path / "output"
    with waiting_preview(demo, output) as engine:
        (host,) = (p for p in psutil.Process(engine.pid).children() if "serve" in p.cmdline())
        host.kill()
        assert engine.wait(timeout=120) != 0
    until(lambda: not processes_of_host(), "the program has left")


def test_a_python_policy_pack_blocks(project: Any, tmp_path: Path, processes_of_host: Any) -> None:
    demo = project({"__main__.py": COMPONENTS})
    demo.write({f"pack/{name}": text for name, text in PACK.items()})
    pack = demo.folder / "pack"
    result = demo.run("preview", policies=[pack], check=False)
    assert result.status != 0
    assert result.violations == (
        "[mandatory] racks/one-rack: One rack is enough\na second rack is one too many",
    )
    until(lambda: not processes_of_host(), "host and plugins have left")
    demo.write({"__main__.py": "import pulumi\n"})
    assert demo.run("up", policies=[pack]).violations == ()


def test_a_dynamic_resource_lives_through_create_update_and_delete(
    project: Any, tmp_path: Path, processes_of_host: Any
) -> None:
    log = tmp_path / "log"
    demo = project({"__main__.py": DYNAMIC.format(log=log)})
    assert demo.run("up", config={"size": "one"}).changes == {"create": 2}
    assert demo.run("up", "--expect-no-changes").changed == 0
    assert demo.run("up", config={"size": "two"}).changes == {"update": 1, "same": 1}
    demo.run("destroy")
    assert log.read_text().splitlines() == ["create one", "update two", "delete two"]
    until(lambda: not processes_of_host(), "host and plugins have left")


def test_the_schema_of_a_component_package(project: Any, processes_of_host: Any) -> None:
    import json

    demo = project({"__main__.py": ""})
    demo.write({f"tiny/{name}": text for name, text in TINY.items()})
    answer = demo.engine.call(["package", "get-schema", "./tiny"]).checked()
    schema = json.loads(answer.output[answer.output.index("{") :])
    assert (schema["name"], schema["version"]) == ("tiny", "1.2.3")
    pool = schema["resources"]["tiny:index:Pool"]
    assert pool["isComponent"] is True
    assert set(pool["inputProperties"]) == {"size"}
    assert set(pool["properties"]) == {"label"}
    until(lambda: not processes_of_host(), "host and plugins have left")


def test_a_yaml_program_uses_a_python_component(
    project: Any, engine_layout: Any, processes_of_host: Any
) -> None:
    if not (engine_layout.bin / "pulumi-language-yaml").exists():
        pytest.skip(
            "not made yet: pulumi-language-yaml; run `gpufleet sandbox programs "
            "pulumi-language-yaml`"
        )
    demo = project(
        {
            "Pulumi.yaml": """
                name: demo
                runtime: yaml
                packages: {tiny: ./tiny}
                resources:
                  pool:
                    type: tiny:index:Pool
                    properties: {size: big}
                outputs: {label: "${pool.label}"}
            """,
            **{f"tiny/{name}": text for name, text in TINY.items()},
        }
    )
    assert demo.run("up").changes == {"create": 2}
    assert demo.engine.outputs(demo.stack) == {"label": "size-big"}
    assert demo.run("up", "--expect-no-changes").changed == 0
    until(lambda: not processes_of_host(), "host and plugins have left")

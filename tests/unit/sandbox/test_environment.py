import subprocess
from pathlib import Path

from gpufleet_sandbox import environment
from gpufleet_sandbox.layout import SandboxLayout


def test_sourcing_twice_is_sourcing_once(tmp_path: Path) -> None:
    layout = SandboxLayout(tmp_path / "it's a folder")
    layout.root.mkdir()
    layout.environment.write_text(environment.shell(layout))
    source = f'. "{layout.environment}"'
    shows = 'echo "$PATH"; echo "$KUBECONFIG"; echo "${PULUMI_CONFIG_PASSPHRASE-unset}"'
    script = f"{source}; {source}; {shows}"
    shown = subprocess.run(
        ["/bin/sh", "-euc", script],
        env={"PATH": "/usr/bin:/bin", "PULUMI_CONFIG_PASSPHRASE": "theirs"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert shown == [f"{layout.bin}:/usr/bin:/bin", str(layout.kubeconfig), "unset"]


def test_merged_keeps_the_rest_and_wins() -> None:
    layout = SandboxLayout(Path("/s"))
    inherited = {"PATH": "/bin", "HOME": "/h", "PULUMI_ACCESS_TOKEN": "t", "KUBECONFIG": "/other"}
    merged = environment.merged(layout, inherited)
    assert merged["PATH"] == "/s/bin:/bin"
    assert merged["HOME"] == "/h"
    assert merged["KUBECONFIG"] == "/s/kubeconfig"
    assert merged["PULUMI_BACKEND_URL"] == "file:///s/pulumi"
    assert "PULUMI_ACCESS_TOKEN" not in merged

"""The modules of the sandbox's programs name one version of each library."""

import re

from gpufleet_sandbox.tools_folder import tools_folder

PINNED = r"(?m)^\s*(\S+) (v\S+)(?: // indirect)?$"
REPLACED = r"(?m)^\s*(\S+) => \S+ (v\S+)$"
DIFFERENT = {
    # The provider's source needs this release; it speaks to the engine by a protocol.
    "github.com/pulumi/pulumi/pkg/v3",
    "github.com/pulumi/pulumi/sdk/v3",
    # A few files, or compiled for one program only.
    "github.com/Azure/go-ansiterm",
    "github.com/jonboulle/clockwork",
    "github.com/moby/term",
    "github.com/santhosh-tekuri/jsonschema/v5",
}
"""Libraries of which the programs have different versions."""


def test_a_library_that_two_programs_share_is_compiled_once() -> None:
    """Go compiles a package again for another version of it, or of what it imports."""
    versions: dict[str, dict[str, str]] = {}
    for module in ("control-plane", "kubernetes-provider", "pulumi"):
        text = (tools_folder() / module / "go.mod").read_text()
        pins = {**dict(re.findall(PINNED, text)), **dict(re.findall(REPLACED, text))}
        for library, version in pins.items():
            versions.setdefault(library, {})[module] = version
    differing = {
        library for library, pins in versions.items() if len(set(pins.values())) > 1
    } - DIFFERENT
    assert not differing, {library: versions[library] for library in sorted(differing)}

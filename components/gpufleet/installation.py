"""How to install gpufleet: one text for all errors, pages, templates and CI files."""

PRODUCT = "CHECKOUT"
"""Requirement that pip installs as `pulumi-gpufleet`: the directory of a checkout, a wheel of a
release or `git+URL@TAG`. No package index has it. To publish the packages, replace these two values
by their names; `tests/unit/test_installation.py` then lists the pages with the former text."""
SANDBOX = "CHECKOUT/sandbox"
"""Requirement that pip installs as `gpufleet-sandbox`."""


def install_command(*extras: str, sandbox: bool = False) -> str:
    """The shell command that installs gpufleet.

    Args:
        extras: Extras of `pulumi-gpufleet` (pyproject.toml). Default: none, the program without
            Pulumi.
        sandbox: Whether to install `gpufleet-sandbox`, which requires the extra `pulumi`;
            `extras` are then those of gpufleet-sandbox.
    """
    wanted = f"[{','.join(extras)}]" if extras else ""
    if sandbox:
        return f"pip install {PRODUCT} {_quoted(SANDBOX + wanted)}"
    return f"pip install {_quoted(PRODUCT + wanted)}"


def _quoted(requirement: str) -> str:
    """Quote a requirement: a shell reads brackets as a pattern."""
    return f"'{requirement}'" if "[" in requirement else requirement

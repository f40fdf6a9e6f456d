"""How to install gpufleet: the one text that every error, page, template and CI file uses."""

PRODUCT = "CHECKOUT"
"""What pip gets for `pulumi-gpufleet`: the folder of a checkout, a wheel of a release or
`git+URL@TAG`. No index has the packages. To publish them, change these two values to their
names; `tests/unit/test_installation.py` then lists the pages that have the former words."""
SANDBOX = "CHECKOUT/sandbox"
"""What pip gets for `gpufleet-sandbox`."""


def install_command(*extras: str, sandbox: bool = False) -> str:
    """The shell command that installs gpufleet.

    Args:
        extras: Extras of `pulumi-gpufleet` (pyproject.toml). Default: none, the program without
            Pulumi.
        sandbox: Whether `gpufleet-sandbox`, which requires the extra `pulumi`, comes with it;
            `extras` are then those of gpufleet-sandbox.
    """
    wanted = f"[{','.join(extras)}]" if extras else ""
    if sandbox:
        return f"pip install {PRODUCT} {_quoted(SANDBOX + wanted)}"
    return f"pip install {_quoted(PRODUCT + wanted)}"


def _quoted(requirement: str) -> str:
    """A shell reads brackets as a pattern."""
    return f"'{requirement}'" if "[" in requirement else requirement

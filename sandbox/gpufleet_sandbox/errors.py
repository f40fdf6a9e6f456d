"""The one exception of the sandbox: something a person can read and act on."""


class SandboxError(Exception):
    """The sandbox cannot do the requested operation. The text gives reason and remedy."""

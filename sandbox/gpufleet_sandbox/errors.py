"""The one exception of the sandbox: something a person can read and act on."""


class SandboxError(Exception):
    """The sandbox cannot do what was asked. The text says what, why, and what to do next."""

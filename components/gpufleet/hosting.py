"""Serving the components to programs in other languages."""

import sys
from typing import Any

import pulumi
from pulumi.provider import main
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError


class Provider(ComponentProvider):
    """The SDK's component provider, with plain errors for wrong arguments.

    The SDK wraps whatever a constructor raises and sends it with a traceback (pulumi 3.272.0,
    `provider/experimental/component.py`). Arguments that are refused are no fault of the code.
    """

    def construct(self, *args: Any, **settings: Any) -> Any:
        """Make a component; wrong arguments come out as their own error, text only."""
        try:
            return super().construct(*args, **settings)
        except ComponentInitError as failed:
            if isinstance(failed.inner, pulumi.InputPropertiesError):
                # The text says all, and a list beside it would be printed a second time. None
                # instead of an empty list breaks the SDK's own report.
                raise pulumi.InputPropertiesError(str(failed.inner), []) from None
            raise


def serve(components: list[type[pulumi.ComponentResource]], name: str, version: str) -> None:
    """Answer the engine until it ends this process."""
    main(Provider(components, name, version=version), sys.argv[1:])

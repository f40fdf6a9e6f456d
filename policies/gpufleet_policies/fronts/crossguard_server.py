"""Serving the pack without conversions that it has no use for.

The SDK (pulumi-policy 1.21.0) converts a resource's properties once per resource policy, and the
outputs of every resource once per stack policy, before it calls them: a third and a half of a
millisecond each. Resources that no rule knows are answered at once, and the stack policies judge
the inputs that were seen before and read none of the outputs.
"""

from typing import Any

import pulumi_policy.policy as sdk
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import Policy, PolicyPack

from gpufleet_policies.adapters.pulumi_props import is_judged

_Servicer: Any = getattr(sdk, "_PolicyAnalyzerServicer", None)


def serve(name: str, policies: list[Policy]) -> None:
    """Start the pack; never returns."""
    if _Servicer is not None:
        sdk._PolicyAnalyzerServicer = Servicer  # type: ignore[attr-defined]
    PolicyPack(name, policies)


if _Servicer is not None:

    class Servicer(_Servicer):
        """The SDK's own servicer, asked only where there is something to judge.

        A release of the SDK that has no such class, or names it otherwise, is used as it is: the
        verdicts are the same, they take longer.
        """

        def Analyze(self, request: Any, _context: Any) -> Any:  # noqa: N802  as in the protocol
            """Violations of one resource."""
            if not is_judged(request.type):
                return analyzer_pb2.AnalyzeResponse()
            return super().Analyze(request, _context)

        def Remediate(self, request: Any, _context: Any) -> Any:  # noqa: N802
            """New inputs of one resource."""
            if not is_judged(request.type):
                return analyzer_pb2.RemediateResponse()
            return super().Remediate(request, _context)

        def AnalyzeStack(self, request: Any, _context: Any) -> Any:  # noqa: N802
            """Violations across resources."""
            del request
            return super().AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(), _context)

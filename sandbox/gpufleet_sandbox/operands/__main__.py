"""`python -m gpufleet_sandbox.operands --kubeconfig FILE [--once]`."""

import argparse
import os
import signal
import sys

import urllib3
from kubernetes.config import ConfigException

from gpufleet_sandbox.operands.api import Api, ApiError
from gpufleet_sandbox.operands.reconciler import Reconciler

DELAY_VARIABLE = "GPUFLEET_SANDBOX_MIG_SECONDS"
"""Seconds a MIG change stays pending; default 1."""


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Exit codes: 0 ended, 1 API unreachable, 2 bad usage."""
    parser = argparse.ArgumentParser(
        prog="gpufleet_sandbox.operands",
        description="Plays the GPU operands of the sandbox's simulated nodes.",
    )
    parser.add_argument("--kubeconfig", required=True, help="cluster to act on")
    parser.add_argument("--once", action="store_true", help="bring every node to rest and end")
    options = parser.parse_args(arguments)
    try:
        delay = float(os.environ.get(DELAY_VARIABLE, "1"))
    except ValueError:
        parser.error(f"{DELAY_VARIABLE} must be a number of seconds")
    try:
        api = Api.from_kubeconfig(options.kubeconfig)
    except (ConfigException, OSError) as problem:
        parser.error(f"kubeconfig {options.kubeconfig}: {problem}")
    reconciler = Reconciler(api, delay)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: reconciler.stop())
    if not options.once:
        reconciler.run()
        return 0
    try:
        reconciler.once()
    except (ApiError, urllib3.exceptions.HTTPError, OSError) as problem:
        sys.stderr.write(f"gpufleet_sandbox.operands: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

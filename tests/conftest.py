"""For every test process: Ctrl-C is heard, examples of properties may take their time on a busy
machine, and two libraries that each define `google.rpc.Status` get along.

Pulumi's component host and Google's API clients both register that message, under different file
names, and the second import in one process fails. No program of ours loads both; a test process
may, in any order. Both definitions are the same, so Pulumi's is given Google's.
"""

import signal
import sys

from google.rpc import status_pb2
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs deaf to Ctrl-C, and children inherit that; tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.modules.setdefault("pulumi.runtime.proto.status_pb2", status_pb2)

settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

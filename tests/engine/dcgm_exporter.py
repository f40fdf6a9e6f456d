"""A DCGM exporter and kube-state-metrics for nodes that are only described: one HTTP server."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gpufleet.render.dcgm_metrics import Counter


def line(name: str, value: float, labels: Mapping[str, str]) -> str:
    """One sample of the exposition format."""
    inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:g}"


def exposition(
    counters: tuple[Counter, ...],
    devices: list[dict[str, str]],
    value: Callable[[str, dict[str, str]], float],
) -> str:
    """Output of an exporter with this list of counters for its devices."""
    found: list[str] = []
    for counter in counters:
        if counter.kind == "label":
            continue
        found += [
            f"# HELP {counter.field} {counter.meaning}",
            f"# TYPE {counter.field} {counter.kind}",
        ]
        for device in devices:
            labels = {**device, "DCGM_FI_DRIVER_VERSION": "595.91.07"}
            if counter.field == "DCGM_EXP_XID_ERRORS_COUNT":
                labels |= {"xid": "79", "window_size_in_ms": "300000"}
            found.append(line(counter.field, value(counter.field, device), labels))
    return "\n".join([*found, ""])


@contextmanager
def served(pages: Mapping[str, str]) -> Iterator[int]:
    """The pages, by path, on a loopback port while the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = pages.get(self.path)
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

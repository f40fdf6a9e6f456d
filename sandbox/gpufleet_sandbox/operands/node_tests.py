"""The kubelet of the pods that test nodes: it runs their scripts, with simulated programs.

A pod with the label `gpufleet.dev/acceptance` is left alone by kwok. Here each container's script
runs as it is in the pod's ConfigMap; nvidia-smi, dcgmi, NCCL's test, vectorAdd and kubectl are
those of `vendor_programs`. Waits are shortened.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import urllib3

from gpufleet_sandbox.operands.api import Api, ApiError
from gpufleet_sandbox.operands.hardware import HardwareError, read_hardware
from gpufleet_sandbox.operands.informer import Informer, Key
from gpufleet_sandbox.operands.journal import log
from gpufleet_sandbox.operands.kubectl import serving
from gpufleet_sandbox.operands.sick_gpus import write_outputs

LABEL = "gpufleet.dev/acceptance"
PROGRAMS = Path(__file__).parent / "vendor_programs"
POLL_SECONDS, RETRY_SECONDS = "0.2", "1"
"""In place of half a minute and half an hour."""
_PASSED_OVER = ("tools", "kubectl")
"""Containers that only copy programs."""


class NodeTests:
    """All such pods of one cluster."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._pods = Informer(api, f"/api/v1/pods?labelSelector={LABEL}", self._changed)
        self._playing: dict[str, PlayedPod] = {}
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="gpufleet-node-tests-")
        self._socket = Path(self._folder.name) / "kubectl"
        self._open = contextlib.ExitStack()

    @property
    def informers(self) -> tuple[Informer, ...]:
        """Collections to watch."""
        return (self._pods,)

    def start(self) -> None:
        """Serve kubectl."""
        self._open.enter_context(serving(self._api, self._socket))

    def stop(self) -> None:
        """End every script."""
        with self._lock:
            playing = list(self._playing.values())
        for one in playing:
            one.end()
        self._open.close()
        self._folder.cleanup()

    def _changed(self, key: Key) -> None:
        item = self._pods.get(key)
        with self._lock:
            if item is None or item["metadata"].get("deletionTimestamp"):
                for uid in [u for u, one in self._playing.items() if one.key == key]:
                    self._playing.pop(uid).end()
                return
            uid = item["metadata"]["uid"]
            waiting = (item.get("status") or {}).get("phase") in (None, "Pending")
            if uid in self._playing or not waiting or not item["spec"].get("nodeName"):
                return
            folder = Path(tempfile.mkdtemp(dir=self._folder.name))
            one = self._playing[uid] = PlayedPod(self._api, item, key, folder, self._socket)
        threading.Thread(target=one.play, name=f"pod {key[1]}", daemon=True).start()


class PlayedPod:
    """One pod while it runs."""

    def __init__(
        self, api: Api, item: Mapping[str, Any], key: Key, folder: Path, socket: Path
    ) -> None:
        self._api, self._item, self._folder, self._socket = api, item, folder, socket
        self.key = key
        self._ended = threading.Event()
        self._process: subprocess.Popen[str] | None = None

    def end(self) -> None:
        """Kill what runs."""
        self._ended.set()
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def play(self) -> None:
        """Run the containers in order, as a kubelet does."""
        try:
            self._play()
        except (ApiError, urllib3.exceptions.HTTPError, OSError, HardwareError) as problem:
            if not self._ended.is_set():
                log(self.key[1], f"test of a node not played: {problem}")

    def _play(self) -> None:
        spec = self._item["spec"]
        self._write_scripts(spec)
        for container in spec.get("initContainers", []):
            if container["name"] in _PASSED_OVER:
                continue
            while self._run(container) != 0:
                if self._ended.wait(float(POLL_SECONDS)):
                    return
        (main,) = spec["containers"]
        threading.Thread(target=self._tell_when_ready, daemon=True).start()
        code = self._run(main)
        if not self._ended.is_set():
            self._status("Succeeded" if code == 0 else "Failed", ready=False)

    def _write_scripts(self, spec: Mapping[str, Any]) -> None:
        (name,) = [v["configMap"]["name"] for v in spec["volumes"] if "configMap" in v]
        found = self._api.get(f"/api/v1/namespaces/{self.key[0]}/configmaps/{name}")
        for folder in ("results", "gpus", "scripts"):
            (self._folder / folder).mkdir()
        for file, text in found["data"].items():
            (self._folder / "scripts" / file).write_text(text)

    def _run(self, container: Mapping[str, Any]) -> int:
        """The exit code of the container's script."""
        if self._ended.is_set():
            return -1
        node = self._api.get(f"/api/v1/nodes/{self._item['spec']['nodeName']}")
        annotations = node["metadata"].get("annotations") or {}
        write_outputs(read_hardware(annotations), annotations, self._folder / "gpus")
        script = self._folder / "scripts" / Path(container["command"][-1]).name
        self._process = subprocess.Popen(
            ["/bin/sh", str(script)],
            env=self._environment(container),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        _, errors = self._process.communicate()
        if self._process.returncode and not self._ended.is_set():
            log(self.key[1], f"{container['name']} ended with {self._process.returncode}: {errors}")
        return self._process.returncode

    def _environment(self, container: Mapping[str, Any]) -> dict[str, str]:
        metadata = self._item["metadata"]
        known = {
            "spec.nodeName": self._item["spec"]["nodeName"],
            "metadata.name": metadata["name"],
            "metadata.uid": metadata["uid"],
        }
        given = {
            one["name"]: one.get("value")
            or known.get(one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath"), "")
            for one in container.get("env", [])
        }
        if "RETRY" in given:
            given["RETRY"] = RETRY_SECONDS
        return {
            **given,
            "PATH": f"{PROGRAMS}:/usr/local/bin:/usr/bin:/bin",
            "RESULTS": str(self._folder / "results"),
            "SCRIPTS": str(self._folder / "scripts"),
            "TOOLS": str(PROGRAMS),
            "GPUS_OF_NODE": str(self._folder / "gpus"),
            "SIMULATOR_SOCKET": str(self._socket),
            "SIMULATOR_PYTHON": sys.executable,
            "SIMULATOR_PID": str(os.getpid()),
            "POLL": POLL_SECONDS,
        }

    def _tell_when_ready(self) -> None:
        """The pod is ready when its readiness probe would pass; without one, at once."""
        (main,) = self._item["spec"]["containers"]
        verdict = self._folder / "results" / "verdict"
        while "readinessProbe" in main and not verdict.exists():
            if self._ended.wait(float(POLL_SECONDS)):
                return
        with contextlib.suppress(ApiError):
            self._status("Running", ready=True)

    def _status(self, phase: str, *, ready: bool) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        kinds = ("Ready", "ContainersReady")
        conditions = [
            {"type": kind, "status": str(ready), "lastTransitionTime": now} for kind in kinds
        ]
        status = {"phase": phase, "startTime": now, "conditions": conditions}
        path = f"/api/v1/namespaces/{self.key[0]}/pods/{self.key[1]}/status"
        self._api.merge_patch(path, {"status": status})

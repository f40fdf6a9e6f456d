"""Progress on a terminal: one bar per running task, filled by time against the estimate."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from gpufleet_sandbox.progress import ProgressTask, duration

_NEVER_FULL = 0.97
"""An estimate that proved too short must not look like an end."""


class _Bar:
    def __init__(self, bars: "_Bars", identity: TaskID, name: str, seconds: float) -> None:
        self._bars, self._identity, self._name, self.seconds = bars, identity, name, seconds
        self.begun = time.monotonic()

    def detail(self, text: str) -> None:
        self._bars.display.update(self._identity, detail=escape(text))

    def done(self, text: str) -> None:
        elapsed = duration(time.monotonic() - self.begun)
        self._bars.close(
            self._identity, f"[green]✓[/green] {self._name}: {escape(text)} ({elapsed})"
        )

    def failed(self, text: str) -> None:
        self._bars.close(self._identity, f"[red]✗[/red] {self._name}: {escape(text)}")

    def tick(self) -> None:
        elapsed = time.monotonic() - self.begun
        if self.seconds:
            left = self.seconds - elapsed
            remaining = f"about {duration(left)} left" if left > 0 else "nearly there"
            filled = min(elapsed / self.seconds, _NEVER_FULL)
        else:
            remaining, filled = duration(elapsed), 0.0
        self._bars.display.update(self._identity, completed=filled, remaining=remaining)


class _Bars:
    def __init__(self, display: Progress) -> None:
        self.display = display
        self._bars: dict[TaskID, _Bar] = {}
        self._lock = threading.Lock()

    def note(self, text: str) -> None:
        self.display.console.print(text, markup=False, highlight=False)

    def task(self, name: str, seconds: float) -> ProgressTask:
        with self._lock:
            if not self._bars:
                self.display.start()
            identity = self.display.add_task(name, total=1.0, detail="", remaining="")
            bar = self._bars[identity] = _Bar(self, identity, name, seconds)
        return bar

    def close(self, identity: TaskID, text: str) -> None:
        with self._lock:
            self._bars.pop(identity, None)
            self.display.remove_task(identity)
            if not self._bars:
                # No display between tasks: what the command prints then belongs to it alone.
                self.display.stop()
        self.display.console.print(text, highlight=False)

    def tick(self) -> None:
        with self._lock:
            bars = list(self._bars.values())
        for bar in bars:
            bar.tick()


@contextmanager
def bars() -> Iterator[_Bars]:
    """The display, moved on four times a second while the context lasts."""
    display = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[remaining]}"),
        TextColumn("[dim]{task.fields[detail]}[/dim]"),
        console=Console(stderr=True),
        transient=True,
        # Standard output may be a JSON document; it must not pass through a display on stderr.
        redirect_stdout=False,
        redirect_stderr=False,
    )
    shown = _Bars(display)
    over = threading.Event()

    def move() -> None:
        while not over.wait(0.25):
            shown.tick()

    mover = threading.Thread(target=move, daemon=True)
    mover.start()
    try:
        yield shown
    finally:
        over.set()
        mover.join()
        display.stop()

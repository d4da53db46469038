"""What a run shows while it works: a Rich bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Literal, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from maskline.training.distributed import rank
from maskline.training.settings import ComputeParams

LINE_EVERY_SECONDS = 10.0


def process_reporter(title: str, steps: int, compute: ComputeParams) -> "Reporter":
    """Return what shows the progress of this process: nothing unless its rank is 0."""
    return Reporter(title, steps, compute.progress if rank() == 0 else "silent")


class Reporter:
    """Show how far a run is; use as a context manager."""

    def __init__(self, title: str, steps: int, mode: Literal["auto", "bar", "lines", "silent"]) -> None:
        self.title = title
        self.steps = steps
        self.console = Console(quiet=mode == "silent", highlight=False, soft_wrap=True)
        show_bar = mode == "bar" or (mode == "auto" and sys.stdout.isatty())
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not show_bar,
        )
        self._lines = not show_bar
        self._task = self._bar.add_task(title, total=steps, numbers="")
        self._started = self._last_line = time.monotonic()
        self._first_step: int | None = None
        self._tokens = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        """Print a line of its own."""
        self.console.print(line, markup=False)

    def update(self, step: int, tokens: int, numbers: Mapping[str, float]) -> None:
        """Report update `step`, counted from 1, that took `tokens` real tokens and gave `numbers`."""
        now = time.monotonic()
        if self._first_step is None:
            self._first_step, self._started = step, now
            return  # how long it took is not known
        self._tokens += tokens
        seconds = now - self._started
        done = step - self._first_step
        if seconds > 0:
            text = "  ".join(f"{name} {value:.4g}" for name, value in numbers.items())
            text += f"  {self._tokens / seconds:,.0f} tokens/s"
            self._bar.update(self._task, completed=step, numbers=text)
            if self._lines and now - self._last_line >= LINE_EVERY_SECONDS:
                self._last_line = now
                left = (self.steps - step) * seconds / done
                self.say(f"{self.title}: step {step}/{self.steps}  {text}  {left:,.0f} s left")

    def evaluated(self, step: int, metrics: Mapping[str, float | None]) -> None:
        """Report a score on the validation set."""
        text = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items() if value is not None)
        self.say(f"{self.title}: step {step}/{self.steps}  validation  {text}")

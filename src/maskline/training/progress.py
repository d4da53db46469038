"""What a run shows while it works: a Rich bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Literal, Self

from rich.console import Console, RenderableType
from rich.progress import Progress, Task
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from maskline.core.text import printable, wrapped
from maskline.training.distributed import rank
from maskline.training.settings import ComputeParams

LINE_EVERY_SECONDS = 10.0
_SHORTEST_BAR, _LONGEST_BAR = 10, 40


def process_reporter(title: str, steps: int, compute: ComputeParams) -> "Reporter":
    """Return what shows the progress of this process: nothing unless its rank is 0."""
    return Reporter(title, steps, compute.progress if rank() == 0 else "silent")


class _Line(Progress):
    """One line of what a terminal of this width has room for."""

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """Return the line of each task."""
        table = Table.grid()
        for task in tasks:
            table.add_row(self._line(task))
        return table

    def _line(self, task: Task) -> RenderableType:
        step, pace, left = f"{task.completed:.0f}/{task.total:.0f}", task.fields["pace"], task.fields["left"]
        first, *others = task.fields["numbers"] or [""]
        gap = "  "
        if len(gap.join([step, first, f"{left} left"])) > self.console.width:
            gap = " "
        elif left:
            left += " left"
        # In the order of the line, each with its place in the order in which they are given room.
        parts = [
            (3, task.description),
            (0, step),
            (1, first),
            *((5, number) for number in others),
            (4, pace),
            (2, left),
        ]
        room, shown = self.console.width + len(gap), set()
        for place, (_, text) in sorted(enumerate(parts), key=lambda part: part[1][0]):
            if text and len(text) + len(gap) <= room:
                room -= len(text) + len(gap)
                shown.add(place)
        line, bar = Table.grid(), []
        if room - len(gap) >= _SHORTEST_BAR:
            bar = [ProgressBar(task.total, task.completed, width=min(room - len(gap), _LONGEST_BAR))]
        texts = [text for place, (_, text) in enumerate(parts) if place in shown]
        line.add_row(Text(gap.join(texts) + gap * len(bar), no_wrap=True, overflow="ellipsis"), *bar)
        return line


def _in_words(seconds: float) -> str:
    """Return a time in eight characters at most."""
    left = timedelta(seconds=round(seconds))
    return f"{left.days}d {left.seconds // 3600}h" if left.days else str(left)


class Reporter:
    """Show how far a run is; use as a context manager."""

    def __init__(self, title: str, steps: int, mode: Literal["auto", "bar", "lines", "silent"]) -> None:
        self.title = title
        self.steps = steps
        self.console = Console(quiet=mode == "silent", highlight=False, soft_wrap=True)
        show_bar = mode == "bar" or (mode == "auto" and sys.stdout.isatty())
        self._bar = _Line(console=self.console, disable=not show_bar)
        self._lines = not show_bar
        self._task = self._bar.add_task(title, total=steps, numbers=[], pace="", left="")
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
        """Print a line of its own, which a terminal gets between words."""
        line = printable(line)
        self.console.print(wrapped(line, self.console.width) if self.console.is_terminal else line, markup=False)

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
            shown = [f"{name} {value:.4g}" for name, value in numbers.items()]
            pace = f"{self._tokens / seconds:,.0f} tokens/s"
            left = (self.steps - step) * seconds / done
            self._bar.update(self._task, completed=step, numbers=shown, pace=pace, left=_in_words(left))
            if self._lines and now - self._last_line >= LINE_EVERY_SECONDS:
                self._last_line = now
                text = "  ".join([*shown, pace])
                self.say(f"{self.title}: step {step}/{self.steps}  {text}  {left:,.0f} s left")

    def stalled(self, step: int, best_step: int, patience: int | None) -> None:
        """Report that the run ends after `step`, because the last `patience` scores were not better than the best."""
        best = f"the best one is that of step {best_step}" if best_step else "none was a number"
        self.say(f"{self.title}: step {step}/{self.steps}  ends here: {patience} scores without a better one; {best}")

    def evaluated(self, step: int, metrics: Mapping[str, float | None]) -> None:
        """Report a score on the validation set."""
        text = "  ".join(f"{name} {value:.4g}" for name, value in metrics.items() if value is not None)
        self.say(f"{self.title}: step {step}/{self.steps}  validation  {text}")

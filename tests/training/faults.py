"""Faults to build into a process, and a record of what it does to files."""

import ctypes
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from maskline.core.errors import UserError
from maskline.pretraining.objective import PretrainingObjective


def before_file_operations(act):
    """Call `act(number, path)` before each operation that changes something below the current folder."""
    here, count, acting = Path.cwd(), 0, False

    def hook(event, arguments):
        nonlocal count, acting
        if acting or event not in {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}:
            return
        writes = event != "open" or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if isinstance(arguments[0], int) or not writes:
            return
        path = Path(os.fsdecode(arguments[0]))
        if path.is_absolute() and here not in path.parents:
            return
        count += 1
        acting = True
        act(count, str(path))
        acting = False

    sys.addaudithook(hook)


def record_file_operations(to):
    """Write the path of each to a file, one a line."""
    record = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    before_file_operations(lambda _, path: os.write(record, json.dumps(path).encode() + b"\n"))


def kill_at_file_operation(number):
    before_file_operations(lambda count, _: count == number and os.kill(os.getpid(), signal.SIGKILL))


def at_update(number, act):
    """Call `act(objective)` when update `number`, counted from 1, begins."""
    real = PretrainingObjective.microbatches

    def microbatches(objective, step):
        if step + 1 == number:
            act(objective)
        return real(objective, step)

    PretrainingObjective.microbatches = microbatches


def interrupt(_):
    os.kill(os.getpid(), signal.SIGINT)


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_ever(_):
    signal.pause()


def give_up(_):
    raise UserError("a shard is gone: bring it back")


def fail(_):
    raise ZeroDivisionError


def spoil_gradient(objective):
    objective.model.encoder.embeddings.token.weight.register_hook(lambda gradient: gradient * torch.nan)


def unmask():
    """Leave nothing to predict in any example."""
    real = PretrainingObjective.microbatches

    def microbatches(objective, step):
        nothing = np.zeros(0, np.int64)
        return [replace(batch, masked_positions=nothing, masked_labels=nothing) for batch in real(objective, step)]

    PretrainingObjective.microbatches = microbatches


def worsen():
    """Let the loss of each score be more than that before."""
    real, scores = PretrainingObjective.evaluate, iter(range(100))
    PretrainingObjective.evaluate = lambda objective: real(objective) | {"loss": 5.0 + next(scores)}


def run_out_of_memory(_):
    torch.empty(1 << 60)


def mount_small_disk(folder, pages=1):
    """Let `folder` be a disk of so many pages of 4 KiB, for this process alone."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    new_user_and_mounts = 0x10000000 | 0x00020000
    assert libc.unshare(new_user_and_mounts) == 0, os.strerror(ctypes.get_errno())
    for name, line in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path("/proc/self", name).write_text(line)
    assert libc.mount(b"none", bytes(folder), b"tmpfs", 0, f"size={4 * pages}k".encode()) == 0, os.strerror(
        ctypes.get_errno()
    )

"""The training engine: optimizers, schedules, the loop, resumable states, devices, export."""

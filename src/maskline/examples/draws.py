"""Random numbers as a function of a key and counters, independent of what was drawn before.

So workers, batch size, order and restarts do not change what is drawn for an example, and resuming needs no state.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FEISTEL_ROUNDS = 4


def key(seed: int, purpose: str, *counters: int) -> Bits:
    """Return the 64-bit key, (1,), for all draws of one `purpose` under `seed`; `counters` may hold an epoch."""
    text = "/".join([str(seed), purpose, *map(str, counters)])
    return np.frombuffer(hashlib.blake2b(text.encode(), digest_size=8).digest(), "<u8").astype(np.uint64)


def draw(keys: Bits, counters: NDArray[np.integer]) -> Bits:
    """Return 64 random bits for every pair of a key and a counter, broadcast against each other.

    They are output number `counter` of SplitMix64 (Steele, Lea & Flood 2014, fig. 17) with the key as its seed.
    """
    x = keys + (counters.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits: Bits = x ^ (x >> np.uint64(31))
    return bits


def below(bits: Bits, bound: NDArray[np.integer] | int) -> NDArray[np.int64]:
    """Return integers in [0, bound) for bounds under 2**32 (multiply-shift; the bias is under bound / 2**32)."""
    return (((bits >> np.uint64(32)) * np.asarray(bound, np.uint64)) >> np.uint64(32)).astype(np.int64)


def uniform(bits: Bits) -> NDArray[np.float64]:
    """Return numbers in [0, 1)."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def permute(keys: Bits, positions: NDArray[np.integer], n: int) -> NDArray[np.int64]:
    """Return the places of `positions` in a random order of range(n), without a table of n.

    This is a Feistel network over the smallest even number of bits that holds n, and at least 6, since fewer bits do
    not mix. A result of n or more goes through the network again until it is below n.
    """
    half = np.uint64(max(3, ((n - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    round_keys = draw(keys, np.arange(_FEISTEL_ROUNDS))

    def shuffle(x: Bits) -> Bits:
        left, right = x >> half, x & mask
        for round_key in round_keys:
            left, right = right, left ^ (draw(round_key, right) & mask)
        return (left << half) | right

    x = shuffle(positions.astype(np.uint64))
    while (outside := x >= n).any():
        x[outside] = shuffle(x[outside])
    return x.astype(np.int64)

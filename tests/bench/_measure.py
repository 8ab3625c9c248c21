"""Timing and memory helpers: best of several runs, and peak memory in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np


def best_time(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of several run times in seconds: the one least disturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def slope(sizes: list[int], times: list[float]) -> float:
    """Return the log-log slope of time against size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def kernel_products(n: int, p: int, iterations: int, dtype: str) -> float:
    """Return the seconds of the matrix products that a Tikhonov fit cannot avoid.

    Setup: distances (n x p x n) and the divergence (n x n x p). Each iteration: three products.
    """
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((n, p)).astype(dtype), rng.standard_normal((n, n)).astype(dtype)
    outer = best_time(lambda: X @ X.T)
    inner = best_time(lambda: A @ X)
    return (outer + inner) + iterations * (outer + 2 * inner)


def in_process(code: str, *arguments: object) -> dict[str, float]:
    """Run ``code``, which sets ``out``, in a new process; return ``out`` with its memory growth.

    ``memory`` is the growth of the peak resident size, in bytes, from before the marked work:
    code must call ``start()`` after its imports and data are in place.
    """
    script = f"""
import json, re, sys, time
import numpy as np
def peak():  # Linux; ru_maxrss would inherit the parent's peak
    with open("/proc/self/status") as status:
        return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", status.read()).group(1))
base = None
def start():
    global base
    base = peak()
args = json.loads(sys.argv[1])
{code}
out["memory"] = peak() - base
out["peak"] = peak()
print(json.dumps(out))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


__all__ = ["best_time", "in_process", "kernel_products", "slope"]

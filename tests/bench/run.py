"""Speed and memory of the estimators against the bare matrix products they need.

``make bench`` runs all of it in a few minutes; ``python tests/bench/run.py --only step`` one part.
Times depend on the machine, so what is reported are ratios of times measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

from steinsdr import SteinRegressor, SteinSDR
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import simulate

BASELINES = ("SIR", "RFM", "CSOPG", "KSIR")

FIT = """
from steinsdr.scores import TikhonovScore
n, p, dtype, centers, limit = args
X = np.random.default_rng(0).standard_normal((n, p))
TikhonovScore(dtype=dtype).fit(X[:50])
start()
begin = time.perf_counter()
score = TikhonovScore(dtype=dtype, n_centers=centers, memory_limit=limit).fit(X)
error = float(np.linalg.norm(score.train_scores_ - X) / np.linalg.norm(X))
out = dict(seconds=time.perf_counter() - begin, n_iter=score.n_iter_, error=error)
"""


def best_time(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of several run times in seconds: the one least disturbed."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


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


def row(name: str, value: str, note: str = "") -> None:
    print(f"  {name:<46} {value:>10}   {note}", flush=True)


def bench_tikhonov() -> None:
    """Fit and training scores at n = 4000, p = 100 against the products; n = 500; memory."""
    print("Tikhonov score, p = 100, lambda = 1e-4")
    n, p = 4000, 100
    X = np.random.default_rng(0).standard_normal((n, p))
    for dtype in ("float32", "float64"):
        score = TikhonovScore(dtype=dtype, n_centers=None)
        seconds = best_time(lambda score=score: score.fit(X))
        bare = kernel_products(n, p, score.n_iter_, dtype)
        note = f"{seconds:.2f} s, {score.n_iter_} iterations; at most 2.5 wanted"
        row(f"n = {n}, {dtype}: time / bare products", f"{seconds / bare:.2f}", note)
    out = in_process(FIT, n, p, "float32", None, 2e9)
    row(
        f"n = {n}, float32: peak memory / (12 n^2 bytes)",
        f"{out['memory'] / (12 * n**2):.2f}",
        "at most 1.2 wanted",
    )
    small = X[:500]
    for dtype in ("float32", "float64"):
        seconds = best_time(lambda dtype=dtype: TikhonovScore(dtype=dtype).fit(small), 10)
        row(f"n = 500, {dtype}: milliseconds", f"{1e3 * seconds:.0f}", "60 wanted, one thread")
    one = best_time(lambda: TikhonovScore(1e-5).fit(small), 5)
    path = best_time(lambda: TikhonovScore().path(small, np.geomspace(1e-5, 1e-1, 20)), 5)
    row("n = 500: path of 20 lambdas / one fit", f"{path / one:.2f}")


def bench_large() -> None:
    """n = 20,000: exact in tiles, and Nyström, both within 4 GB."""
    print("n = 20,000, p = 100")
    for label, dtype, centers in (
        ("exact, tiled, float32", "float32", None),
        ("Nyström, 1000 centres, float64", "float64", 1000),
    ):
        out = in_process(FIT, 20_000, 100, dtype, centers, 1e9)
        note = f"{out['seconds']:.0f} s, {out['n_iter']} it., relative error {out['error']:.3f}"
        row(f"{label}: peak memory in GB", f"{out['peak'] / 1e9:.2f}", note + "; 4 allowed")


def bench_step() -> None:
    """One training step of the denoising network against the products of its layers."""
    import torch

    from steinsdr.scores._network import DenoisingStep, ScoreNetwork, dropout_masks

    print("Denoising score, one step of 256 points, p = 100")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    network = ScoreNetwork(100, 256, 2, 0.3)
    generator = torch.Generator().manual_seed(0)
    step = DenoisingStep(network, 0.1)
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)
    data = torch.randn(10_000, 100)

    def whole() -> None:
        for batch in torch.randperm(10_000)[: 40 * 256].split(256):
            x = data[batch]
            noise = torch.empty_like(x).normal_(0.0, 0.1, generator=generator)
            step(x, noise, dropout_masks(2, len(x), 256, 0.3, generator))
            optimizer.step()

    h, x = torch.randn(256, 256), torch.randn(256, 100)
    weights = [torch.randn(256, 256) for _ in range(4)]
    inlet = torch.randn(256, 100)

    def bare() -> None:
        for _ in range(40):
            for W in weights:  # forward, gradient of the weights, gradient of the input
                _ = h @ W.T, h.T @ h, h @ W
            _ = x @ inlet.T, h.T @ x, h @ inlet, x.T @ h, x @ inlet.T

    ours, products = best_time(whole, 5) / 40, best_time(bare, 5) / 40
    row("step / bare products", f"{ours / products:.2f}", f"{1e3 * ours:.1f} ms a step")


def bench_estimators() -> None:
    """Every peer's fit, as a ratio to that of SteinSDR with its defaults."""
    from sklearn.cross_decomposition import PLSRegression

    from steinsdr import baselines
    from steinsdr.link import fit_link

    class Ridge:
        def fit(self, X: np.ndarray, Y: np.ndarray) -> object:
            return fit_link("ridge", X, Y)

    peers = {
        "paper": SteinSDR.paper(3),
        "regressor": SteinRegressor(3),
        "ridge": Ridge(),
        "PLS": PLSRegression(3),
        **{name: getattr(baselines, name)(n_components=3) for name in BASELINES},
    }
    print("Fits of 3 directions, p = 100, q = 10: time / that of SteinSDR with its defaults")
    print(f"  {'n':>5}{'seconds':>9}" + "".join(f"{name:>11}" for name in peers))
    for n in (100, 300, 500):
        data = simulate("isotropic", n)
        base = best_time(lambda d=data: SteinSDR(3).fit(d.X, d.Y))
        ratios = [best_time(lambda m=m, d=data: m.fit(d.X, d.Y), 2) / base for m in peers.values()]
        cells = "".join(f"{ratio:>11.2f}" for ratio in ratios)
        print(f"  {n:>5}{base:>9.2f}{cells}", flush=True)


PARTS = {
    "tikhonov": bench_tikhonov,
    "step": bench_step,
    "estimators": bench_estimators,
    "large": bench_large,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args().only
    warnings.simplefilter("ignore")
    for name in chosen:
        PARTS[name]()


if __name__ == "__main__":
    main()

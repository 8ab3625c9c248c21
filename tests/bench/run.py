"""Speed of all methods against each other; of the scores against the bare products they need.

``make bench`` runs all of it in a few minutes; ``python tests/bench/run.py --only step`` one part.
Times depend on the machine, so what is reported are ratios of times measured in the same run.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from steinsdr import SteinRegressor
from steinsdr.paper.designs import SIMULATED, Sample
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import simulate


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


def peak_memory(work: Callable[[], object]) -> int:
    """Return the largest number of bytes that Python and NumPy held during the work."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def row(name: str, value: str, note: str = "") -> None:
    print(f"  {name:<46} {value:>10}   {note}", flush=True)


def bench_tikhonov() -> None:
    """Fit and training scores against the products that they need; memory; a path of lambdas."""
    print("Tikhonov score, p = 100, lambda = 1e-4")
    X = np.random.default_rng(0).standard_normal((4000, 100))
    for n, repeats in ((500, 10), (4000, 3)):
        for dtype in ("float32", "float64"):
            score = TikhonovScore(dtype=dtype, n_centers=None)
            seconds = best_time(partial(score.fit, X[:n]), repeats)
            bare = kernel_products(n, 100, score.n_iter_, dtype)
            note = f"{seconds:.3f} s, {score.n_iter_} iterations"
            note += "; at most 2.5 wanted" if n == 4000 else ""
            row(f"n = {n}, {dtype}: time / bare products", f"{seconds / bare:.2f}", note)
    memory = peak_memory(partial(TikhonovScore(dtype="float32", n_centers=None).fit, X))
    ratio = f"{memory / (12 * 4000**2):.2f}"
    row("n = 4000, float32: peak memory / (12 n^2 bytes)", ratio, "at most 1.2 wanted")
    one = best_time(partial(TikhonovScore(1e-5).fit, X[:500]), 5)
    lams = np.geomspace(1e-5, 1e-1, 20)
    path = best_time(partial(TikhonovScore().path, X[:500], lams), 5)
    row("n = 500: path of 20 lambdas / one fit", f"{path / one:.2f}")


def bench_large() -> None:
    """n = 20,000: exact in tiles, and Nyström, both within 4 GB."""
    print("n = 20,000, p = 100")
    X = np.random.default_rng(0).standard_normal((20_000, 100))
    for label, dtype, centers in (
        ("exact, tiled, float32", "float32", None),
        ("Nyström, 1000 centers, float64", "float64", 1000),
    ):
        score = TikhonovScore(dtype=dtype, n_centers=centers, memory_limit=1e9)
        start = time.perf_counter()
        memory = peak_memory(partial(score.fit, X))
        error = np.linalg.norm(score.train_scores_ - X) / np.linalg.norm(X)
        note = f"{time.perf_counter() - start:.0f} s, {score.n_iter_} it., relative error "
        row(f"{label}: peak memory in GB", f"{memory / 1e9:.2f}", f"{note}{error:.3f}; 4 allowed")


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
    """Fit by every method of the simulated benchmark, as a ratio to the default SteinSDR."""
    methods = {k: m for k, m in SIMULATED.methods.items() if k != "NN-split"}  # that is minutes
    sizes = (100, 300, 500)
    print("Fits of 3 directions, p = 100, q = 10: time / that of SteinSDR with its defaults")
    seconds: dict[str, list[float]] = {}
    for n in sizes:
        data = simulate("isotropic", n, n_unlabeled=2000)
        sample = Sample(data.X, data.Y, data.X_unlabeled, data.B)
        for name, method in methods.items():
            fit = partial(SIMULATED.families[method.family], sample, 3, seed=0, **method.settings)
            seconds.setdefault(name, []).append(best_time(fit, 2))
        regressor = SteinRegressor(3)
        seconds.setdefault("SteinRegressor", []).append(
            best_time(partial(regressor.fit, data.X, data.Y), 2)
        )
    base = np.array(seconds["SteinSDR"])
    print(f"  {'':<20}" + "".join(f"{f'n = {n}':>10}" for n in sizes))
    for name, times in seconds.items():
        print(f"  {name:<20}" + "".join(f"{ratio:>10.3f}" for ratio in times / base))
    print(f"  {'SteinSDR, seconds':<20}" + "".join(f"{time:>10.3f}" for time in base), flush=True)


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

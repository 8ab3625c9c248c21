"""What must not matter, for any data: rotations, shifts, scales, order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from steinsdr import SteinSDR
from steinsdr.scores import TikhonovScore
from steinsdr.simulation import LAWS

quick = settings(max_examples=15, deadline=None, derandomize=True)
seeds = st.integers(0, 2**16)
laws = st.sampled_from(sorted(LAWS))


def draw(seed, law, n=60, p=4, q=3):
    rng = np.random.default_rng(seed)
    X = LAWS[law].draw(n, p, rng)
    Y = np.tanh(X @ rng.standard_normal((p, q)) / X.std()) + rng.standard_normal((n, q))
    return X, Y, rng


def fit(X, Y, r=2, **parameters):
    parameters = {"lam": 1e-2, "tol": 1e-9} | parameters
    return SteinSDR.paper(r, score_estimator=TikhonovScore(**parameters)).fit(X, Y)


@quick
@given(seeds, laws)
def test_rotating_x_rotates_the_subspace(seed, law):
    X, Y, _ = draw(seed, law)
    Q = ortho_group.rvs(4, random_state=seed)
    plain, turned = (fit(Z, Y, standardize=False) for Z in (X, X @ Q))
    np.testing.assert_allclose(turned.singular_values_, plain.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(turned.cross_moment_, Q.T @ plain.cross_moment_, atol=1e-6)


@quick
@given(seeds, laws, st.floats(-100, 100))
def test_shifting_x_changes_nothing(seed, law, shift):
    X, Y, _ = draw(seed, law)
    a, b = fit(X, Y), fit(X + shift, Y)
    np.testing.assert_allclose(b.cross_moment_, a.cross_moment_, rtol=1e-5, atol=1e-7)


@quick
@given(seeds, laws)
def test_rescaling_columns_rescales_the_moment(seed, law):
    X, Y, rng = draw(seed, law)
    scale = np.exp(rng.standard_normal(4))
    a, b = fit(X, Y), fit(X * scale, Y)
    np.testing.assert_allclose(
        b.cross_moment_ * scale[:, None], a.cross_moment_, rtol=1e-6, atol=1e-9
    )


@quick
@given(seeds, laws)
def test_order_of_responses_and_rows_is_irrelevant(seed, law):
    X, Y, rng = draw(seed, law)
    rows, columns = rng.permutation(len(X)), rng.permutation(Y.shape[1])
    a, b = fit(X, Y), fit(X[rows], Y[rows][:, columns])
    np.testing.assert_allclose(b.singular_values_, a.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(b.cross_moment_, a.cross_moment_[:, columns], atol=1e-6)


@quick
@given(seeds, laws)
def test_an_orthogonal_mix_of_responses_keeps_the_subspace(seed, law):
    X, Y, _ = draw(seed, law)
    Q = ortho_group.rvs(3, random_state=seed)
    a, b = fit(X, Y), fit(X, Y @ Q)
    np.testing.assert_allclose(b.singular_values_, a.singular_values_, rtol=1e-8)

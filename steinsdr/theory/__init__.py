"""The paper's lemmas, theorems and corollary put to the test, one idea a module.

- :mod:`~steinsdr.theory.rates`: how fast an error falls, with a confidence interval.
- :mod:`~steinsdr.theory.population`: the true cross-moment, by quadrature.
- :mod:`~steinsdr.theory.stein_identity`: Lemma 1, where it holds and where it breaks.
- :mod:`~steinsdr.theory.linearity`: what the lemma is for, against sliced inverse regression.
- :mod:`~steinsdr.theory.failures`: even links and discrete covariates, the limitations.
- :mod:`~steinsdr.theory.score_errors`: the score estimators against true scores.
- :mod:`~steinsdr.theory.split_bound`: Theorem 1, the split estimator.
- :mod:`~steinsdr.theory.coupled`: Theorem 2, score and average on the same data.
- :mod:`~steinsdr.theory.source_condition`: what Assumption 4 asks of a density.
- :mod:`~steinsdr.theory.subspace_bounds`: Corollary 1 and Theorem 3.
- :mod:`~steinsdr.theory.rank_tests`: size and power of Algorithm 2.
- :mod:`~steinsdr.theory.rank_rules`: the energy rule, Algorithms 3 and 4.
- :mod:`~steinsdr.theory.printed_settings`: the appendix's tables of settings.
- :mod:`~steinsdr.theory.concentration`: Lemmas 2 and 3, and what is sub-Gaussian.
- :mod:`~steinsdr.theory.kernel_facts`: Lemmas 4, 7, 8 and 9, the curl-free kernel.
- :mod:`~steinsdr.theory.stability`: Lemmas 5, 6 and 10, how much one observation matters.
- :mod:`~steinsdr.theory.figures`: the pictures of these chapters.
- :mod:`~steinsdr.theory.claims`: every labeled statement of the paper with a verdict.
- :mod:`~steinsdr.theory.claims_page`: the same as a page of the book.

Lemmas are counted in the order in which the paper prints them. Functions return measured
quantities next to what the paper promises, as data frames or small dataclasses.
"""

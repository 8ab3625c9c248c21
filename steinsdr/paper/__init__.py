"""The companion of the paper: runs, stores and judges everything it prints.

Everything here needs a checkout of the project. Data flow one way: :mod:`~steinsdr.paper.run`
computes what a study lacks, :mod:`~steinsdr.paper.store` keeps the rows,
:mod:`~steinsdr.paper.ledger` and :mod:`~steinsdr.paper.claims` compare them with the paper.
"""

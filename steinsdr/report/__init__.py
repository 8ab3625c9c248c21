"""Apply SteinSDR to a table of your own: read it, fit, resample, compare, judge, write a report.

:func:`read_table` turns a file into predictors and responses or says what is wrong with it;
:func:`analyze` fits, resamples and compares; the result's :class:`Verdict` says in plain words what
the numbers allow. :mod:`steinsdr.report.write` draws them and writes the report that
``steinsdr fit`` makes. It alone imports matplotlib.
"""

from .._base import needs_extra

with needs_extra("report", "steinsdr.report"):
    from .fit import analyze
    from .read import Table, read_table
    from .rules import Analysis, Verdict

__all__ = ["Analysis", "Table", "Verdict", "analyze", "read_table"]

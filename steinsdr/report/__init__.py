"""Apply SteinSDR to a table of your own: read it, check it, fit, judge, report.

:func:`read_table` turns a file into predictors and responses or says what is wrong with it;
:func:`analyze` fits, resamples and compares; the result's :class:`Verdict` says in plain words what
the numbers allow. :mod:`steinsdr.report.figures` draws them, :mod:`steinsdr.report.files` writes
the report that ``python -m steinsdr fit`` makes. Only these last two import matplotlib.
"""

from .analysis import Analysis, analyze
from .reduction import Reduction
from .table import Table, parse_names, read_table
from .verdict import Verdict

__all__ = [
    "Analysis",
    "Reduction",
    "Table",
    "Verdict",
    "analyze",
    "parse_names",
    "read_table",
]

"""Re-execution of all notebooks with stored parameters.

``python -m steinsdr book --profile paper`` reads ``notebooks/parameters/paper.yml``, checks every
name and type against the notebooks' own ``parameters`` cells, executes the notebooks side by side
with papermill, and leaves executed copies and a summary. Notebooks are found, not listed: a new one
takes part as soon as it is in the folder.
"""

from .parameters import fits, notebook_parameters, read_profile
from .runner import Outcome, Result, Task, execute, kept, plan, run
from .summary import write_summary

__all__ = [
    "Outcome",
    "Result",
    "Task",
    "execute",
    "fits",
    "kept",
    "notebook_parameters",
    "plan",
    "read_profile",
    "run",
    "write_summary",
]

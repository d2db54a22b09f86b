r"""Replications: each study is one module that turns a config into rows.

A study module has

``Config``
    A frozen dataclass of plain values: everything that decides the numbers, but the seeds.
``PRESETS``
    ``{"quick": Config(...), "full": Config(...)}``. Quick takes under a minute on one core and
    runs in the tests; full is run once and recorded.
``run(config, *, seed)``
    The rows (dicts of JSON values) of one seed, computed in this process.
``units(config, seeds)``, ``run_unit(config, **unit)``, ``summarise(config, rows)`` (optional)
    Where one seed takes long or seeds are compared: the work cut into dicts of JSON values that
    take seconds to minutes each; the rows of one such unit, the same whatever ran before it; and
    the rows to record, made from the rows of all units in the order of the plan. Without them a
    unit is a seed, and ``run`` gives its rows.
``TOLERANCES`` (optional)
    By field, how far rows may differ and still be the same; see :func:`verify_recorded`.

The command spreads units over the cores, shows them, and resumes between them.
``logitlib study NAME --preset full`` runs one and writes ``book/results/NAME-full.jsonl``: a line
of provenance, then one row a line, floats rounded to six digits. Nothing else writes there.

Examples
--------
>>> "softmax_vs_sigmoid" in study_names()
True
"""

from logitlib.studies._record import Result, load_result, select
from logitlib.studies._study import find_study, study_names
from logitlib.studies._verify import Verification, verify_recorded

__all__ = [
    "Result",
    "Verification",
    "find_study",
    "load_result",
    "select",
    "study_names",
    "verify_recorded",
]

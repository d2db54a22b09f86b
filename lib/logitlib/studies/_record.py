"""Files of results: JSON lines, the first with the provenance, then one row a line.

Only :func:`logitlib.studies._execute.record` writes them. While a study runs, its finished units
stand in a partial file next to the result, so that an interruption costs no more than a unit.
"""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
DIGITS = 6


@dataclass(frozen=True)
class Result:
    """Recorded rows of a study and where they come from."""

    provenance: dict[str, Any]
    rows: list[Row]

    def select(self, **fields: Any) -> list[Row]:
        """Return the rows whose fields have the given values."""
        return select(self.rows, **fields)

    def summary(self) -> str:
        """Say in a line what was run, when and with which versions."""
        made = self.provenance
        versions = ", ".join(f"{k} {made['versions'][k]}" for k in ("python", "torch", "numpy"))
        seeds = ", ".join(map(str, made["seeds"]))
        minutes = made["unit_seconds"] / 60
        return (
            f"{made['study']}, preset {made['preset']}, seeds {seeds}: recorded "
            f"{made['started'][:10]} with {versions}; {minutes:.0f} minutes of work"
        )


def select(rows: list[Row], **fields: Any) -> list[Row]:
    """Return the rows that have each of ``fields`` with the given value.

    Examples
    --------
    >>> select([{"kind": "a", "x": 1}, {"kind": "b", "x": 2}], kind="b")
    [{'kind': 'b', 'x': 2}]
    """
    missing = object()
    return [
        row for row in rows if all(row.get(key, missing) == value for key, value in fields.items())
    ]


def results_folder() -> Path:
    """Return ``book/results`` at or above the working directory, else beside the source tree.

    Raises
    ------
    FileNotFoundError
        If there is none: the results belong to the repository of the book, not to the package.
    """
    starts = [Path.cwd()]
    spec = importlib.util.find_spec("logitlib")
    if spec is not None and spec.origin is not None:
        starts.append(Path(spec.origin).resolve().parent)
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "book" / "results").is_dir():
                return folder / "book" / "results"
    raise FileNotFoundError(
        f"no folder book/results at or above {starts[0]}: run this inside a clone of the book"
    )


def result_path(name: str, preset: str) -> Path:
    """Return where the result of a preset is recorded."""
    return results_folder() / f"{name}-{preset}.jsonl"


def load_result(name: str, preset: str = "full") -> Result:
    """Read the recorded result of a study.

    Parameters
    ----------
    name : str
        Study, for example "softmax_vs_sigmoid".
    preset : {"full", "quick"}

    Returns
    -------
    Result
        ``provenance`` (what ran, when, with which versions and seeds) and ``rows``.

    Raises
    ------
    FileNotFoundError
        If nothing is recorded; the message names the command that records it.
    ValueError
        If the file is no result.
    """
    path = result_path(name, preset)
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing: record it with `logitlib study {name} --preset {preset}`"
        )
    return read_result(path)


def read_result(path: Path) -> Result:
    """Read a file written by :func:`write_result`."""
    try:
        first, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise ValueError(f"{path} is not a recorded result: {error}") from None
    if not isinstance(first, dict) or "digest" not in first:
        raise ValueError(f"{path} is not a recorded result: its first line has no digest")
    return Result(first, rows)


def write_result(path: Path, provenance: dict[str, Any], rows: list[Row]) -> None:
    """Write a result in one step: readers see the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(_line(item) for item in (provenance, *rounded(rows)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def rounded(value: Any) -> Any:
    """Round every float inside ``value`` to six significant digits.

    A metric of a thousand test rows means nothing beyond the fourth digit; six keep small files
    and readable diffs. NaN and infinities become None, as JSON has no word for them.

    Examples
    --------
    >>> rounded({"a": [1 / 3, float("nan")], "b": 7})
    {'a': [0.333333, None], 'b': 7}
    """
    if isinstance(value, float):
        number = float(f"{value:.{DIGITS}g}")
        return number if abs(number) < float("inf") else None
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value


class PartialFile:
    """Finished units of a run that is not over, one JSON line each after a header line."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self.set_aside: Path | None = None
        self.finished = self._read()

    def _read(self) -> list[dict[str, Any]]:
        """Keep what an earlier run of the same work finished; set the file of another aside."""
        if not self.path.is_file():
            self._start([])
            return []
        lines = _whole_lines(self.path)
        if not lines or lines[0] != json.loads(json.dumps(self.header)):
            self.set_aside = self.path.with_name(self.path.name + ".other")
            os.replace(self.path, self.set_aside)
            self._start([])
            return []
        # Rewritten without a torn last line, which the next unit would be glued to.
        self._start(lines[1:])
        return lines[1:]

    def _start(self, finished: list[dict[str, Any]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".tmp")
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(_line(item) for item in (self.header, *finished))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)

    def append(self, unit: dict[str, Any], rows: list[Row], seconds: float) -> None:
        """Add a finished unit; it is on the disk when this returns."""
        entry = {"unit": unit, "seconds": round(seconds, 2), "rows": rounded(rows)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())
        self.finished.append(entry)

    def remove(self) -> None:
        """Delete the file, after its content stands in the result."""
        self.path.unlink()


def _line(item: Any) -> str:
    return json.dumps(item, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _whole_lines(path: Path) -> list[Any]:
    """Parse lines up to the first that was not written to its end."""
    items: list[Any] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        try:
            items.append(json.loads(line) if line.endswith("\n") else json.loads("torn"))
        except ValueError:
            break
    return items

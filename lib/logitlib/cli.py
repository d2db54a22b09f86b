"""The command ``logitlib``. Torch is imported by the commands that need it, not by ``--help``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import logitlib
from logitlib.studies import _study

if TYPE_CHECKING:
    from logitlib.studies._execute import Progress

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
errors = Console(stderr=True, highlight=False)


def _study_help() -> str:
    lines = [f"- {name}: {_study.study_summary(name)}" for name in _study.study_names()]
    return "\n\n".join(["Studies:", *lines, f"Presets: {', '.join(_study.PRESET_NAMES)}."])


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"logitlib {logitlib.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Losses and output layers for multi-label classifiers, and the studies behind the book."""


@app.command(epilog=_study_help())
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A study, see below.")],
    preset: Annotated[str, typer.Option(help="quick (under a minute) or full.")] = "quick",
    seeds: Annotated[
        int | None, typer.Option(help="Seeds 0 to N-1. [default: quick 2, full 5]", metavar="N")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Worker processes, one thread each.", metavar="J")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Result file. [default: book/results/NAME-PRESET.jsonl]")
    ] = None,
) -> None:
    """Run a study and record its rows; after an interruption the same command goes on."""
    for option, value in (("--seeds", seeds), ("--jobs", jobs)):
        if value is not None and value < 1:
            _fail(f"{option} must be at least 1, got {value}", code=2)
    if preset not in _study.PRESET_NAMES:
        _fail(f"--preset must be one of {', '.join(_study.PRESET_NAMES)}, got {preset!r}", code=2)
    if "." not in name and name not in _study.study_names():
        _fail(f"NAME must be one of {', '.join(_study.study_names())}, got {name!r}", code=2)
    from logitlib.studies import _execute

    numbers = list(range(seeds or _study.DEFAULT_SEEDS[preset]))
    try:
        with _Display(f"{_study.short_name(name)} {preset}") as display:
            path = _execute.record(
                name, preset, numbers, jobs=jobs, out=out, on_progress=display.update
            )
    except KeyboardInterrupt:
        _fail("interrupted: finished units are kept, the same command goes on from there", code=130)
    except (ValueError, OSError, RuntimeError) as error:
        _fail(str(error), code=1)
    typer.echo(f"recorded {path}")


class _Display:
    """A bar on a terminal, a line for each unit elsewhere (a log keeps lines, not bars)."""

    def __init__(self, title: str) -> None:
        from rich import progress

        self.title = title
        self.bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}"),
            console=errors,
            disable=not errors.is_terminal,
        )
        self.task = self.bar.add_task(title, total=None, left="")

    def __enter__(self) -> _Display:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def update(self, state: Progress) -> None:
        left = "" if state.seconds_left is None else f"about {_clock(state.seconds_left)} left"
        if state.unit is None:
            self._introduce(state)
        elif not errors.is_terminal:
            errors.print(
                f"{self.title}: {state.n_done} of {state.n_units} units "
                f"in {_clock(state.elapsed)}, {left}",
                soft_wrap=True,
            )
        self.bar.update(self.task, total=state.n_units, completed=state.n_done, left=left)

    def _introduce(self, state: Progress) -> None:
        if state.set_aside is not None:
            errors.print(
                f"the unfinished run is of other code, config or seeds; moved to {state.set_aside}",
                soft_wrap=True,
            )
        if state.n_resumed:
            errors.print(f"going on after {state.n_resumed} of {state.n_units} units")


def _clock(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.gmtime(seconds))


def _fail(message: str, *, code: int) -> None:
    errors.print(f"error: {message}", style="red", soft_wrap=True)
    raise typer.Exit(code)

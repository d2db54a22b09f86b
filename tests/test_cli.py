import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import logitlib
from logitlib.cli import app
from logitlib.studies import study_names


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1"})


def test_the_version_is_printed():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"logitlib {logitlib.__version__}\n")


def test_without_a_command_the_help_is_shown():
    assert "study" in run().output


def test_the_help_of_study_lists_every_study_with_its_first_line_and_the_presets():
    output = run("study", "--help").output
    assert all(name in output for name in study_names())
    assert "Softmax with targets y/k against sigmoids" in output
    assert "quick" in output
    assert "full" in output


def test_the_command_line_does_not_import_torch():
    code = "import logitlib.cli, sys; print({'torch', 'numpy', 'joblib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no_such_study",), r"error: NAME must be one of .*label_coupling.*, got 'no_such_study'"),
        (("label_coupling", "--preset", "big"), r"--preset must be one of quick, full, got 'big'"),
        (("label_coupling", "--seeds", "0"), r"error: --seeds must be at least 1, got 0"),
        (("label_coupling", "--jobs", "-1"), r"error: --jobs must be at least 1, got -1"),
    ],
)
def test_a_bad_argument_is_named_in_one_line_and_exits_with_2(arguments, message):
    result = run("study", *arguments)
    assert result.exit_code == 2
    assert re.search(message, result.output)
    assert result.output.count("\n") == 1

"""Every recorded result still stands for the code as it is."""

import pytest

from logitlib.studies import study_names, verify_recorded


@pytest.mark.parametrize("name", study_names())
def test_the_recorded_results_stand_for_the_code_as_it_is(name):
    outcome = verify_recorded(name)
    assert outcome.status in ("current", "unchanged numbers"), outcome.message

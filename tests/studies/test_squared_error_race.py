"""The race starts where it says, chooses on valid, and shows the stall on one small split."""

import pytest
import torch

from logitlib.studies import squared_error_race as race

SMALL = race.Config(margins=(0.0, 10.0), learning_rates=(1.0, 4.0), epochs=8)


@pytest.fixture(scope="module")
def rows():
    return race.run(SMALL, seed=0)


def test_the_parts_are_disjoint_and_keep_the_proportions():
    split = race.split_digits(0)
    sizes = [len(digits) for _, digits in (split.train, split.valid, split.test)]
    assert sizes == [1078, 359, 360]
    images = torch.cat([split.train[0], split.valid[0], split.test[0]])
    assert len(images.unique(dim=0)) == 1797
    assert images.min() == 0
    assert images.max() == 1
    assert all(
        digits.bincount().min() > 0.09 * len(digits) for _, digits in (split.valid, split.test)
    )


def test_another_seed_is_another_split():
    one, two = race.split_digits(0), race.split_digits(1)
    assert not torch.equal(one.train[0], two.train[0])
    assert not torch.equal(one.test[0], two.test[0])


def test_the_wrong_start_leads_by_one_nat_and_is_wrong():
    split = race.split_digits(0)
    weights = race.wrong_weights(split, SMALL, seed=0)
    logits, rows = split.train[0] @ weights.T, torch.arange(len(split.train[1]))
    wrong = (split.train[1] + 1) % 10
    lead = (logits[rows, wrong] - logits[rows, split.train[1]]).mean()
    assert lead == pytest.approx(1.0, abs=1e-4)
    assert (logits.argmax(-1) == wrong).float().mean() > 0.9


def test_a_run_has_one_row_a_margin_and_loss(rows):
    assert [(row["margin"], row["loss"]) for row in rows] == [
        (margin, loss) for margin in SMALL.margins for loss in race.LOSSES
    ]
    for row in rows:
        assert row["seed"] == 0
        assert row["learning_rate"] in SMALL.learning_rates
        assert 0 <= row["epoch"] <= SMALL.epochs


def test_only_squared_error_stalls_and_only_from_the_wrong_start(rows):
    accuracy = {(row["margin"], row["loss"]): row["accuracy"] for row in rows}
    assert accuracy[0.0, "cross-entropy"] > 0.85
    assert accuracy[0.0, "squared error"] > 0.85
    assert accuracy[10.0, "cross-entropy"] > 0.85
    assert accuracy[10.0, "squared error"] < 0.5


def test_valid_chooses_the_rate_and_test_is_scored_once():
    split = race.split_digits(0)
    start = torch.zeros(race.N_LABELS, 64)
    chosen = race.best_of_rates(split, start, SMALL, loss="cross-entropy", seed=0)
    swapped = race.Split(split.train, split.valid, split.train)
    same = race.best_of_rates(swapped, start, SMALL, loss="cross-entropy", seed=0)
    assert chosen["learning_rate"] == same["learning_rate"]
    assert chosen["epoch"] == same["epoch"]
    assert chosen["accuracy"] != same["accuracy"]


@pytest.mark.parametrize("rates", [(1e-6, 1.0), (1.0, 1e-6)])
def test_the_rate_with_the_best_valid_score_is_chosen(rates):
    config = race.Config(learning_rates=rates, epochs=4)
    split = race.split_digits(0)
    start = race.wrong_weights(split, config, seed=0)  # stays wrong under the tiny rate
    chosen = race.best_of_rates(split, start, config, loss="cross-entropy", seed=0)
    assert chosen["learning_rate"] == 1.0


def test_a_run_repeats_and_leaves_the_random_state_alone(rows):
    before = torch.get_rng_state()
    assert race.run(SMALL, seed=0) == rows
    assert torch.equal(torch.get_rng_state(), before)

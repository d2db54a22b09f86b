import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import nn

from logitlib.training import BagOfWords, History, fit, log_odds, predict, seeded

X = torch.linspace(-1, 1, 60)[:, None]
Y = 3 * X + 0.5


def line(seed=0, dropout=0.0):
    with seeded(seed):
        return nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 1))


def train(model, *, valid_score=None, seed=0, **options):
    options = {"epochs": 5, "patience": 5, "batch_size": 16} | options
    score = valid_score or (lambda model: -nn.functional.mse_loss(model(X), Y).item())
    optimizer = torch.optim.SGD(model.parameters(), lr=options.pop("lr", 0.1))
    return fit(
        model,
        nn.functional.mse_loss,
        X,
        Y,
        optimizer=optimizer,
        valid_score=score,
        seed=seed,
        **options,
    )


def scripted(*scores):
    """A valid score that follows a script and remembers the weights it was shown."""
    shown, script = [], iter(scores)

    def score(model):
        shown.append([p.clone() for p in model.parameters()])
        return next(script)

    return score, shown


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    models = [line(dropout=0.5) for _ in range(3)]
    histories = [train(m, seed=s) for m, s in zip(models, (1, 1, 2), strict=True)]
    assert histories[0] == histories[1]
    assert same(models[0].parameters(), models[1].parameters())
    assert histories[0].train_loss != histories[2].train_loss


def test_the_random_state_of_the_caller_stays_as_it_was():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train(line(dropout=0.5), epochs=2)
    assert torch.equal(before, torch.get_rng_state())


def test_seeded_draws_differ_between_seeds_and_from_the_caller():
    with seeded(1):
        first = torch.rand(3)
    with seeded(2):
        second = torch.rand(3)
    with seeded(1):
        assert torch.equal(first, torch.rand(3))
    assert not torch.equal(first, second)


def test_the_best_state_is_restored_and_training_stops_after_patience_epochs_without_a_better_one():
    model = line()
    score, shown = scripted(0.0, 1.0, 3.0, 2.0, 3.0, 9.0)
    history = train(model, valid_score=score, epochs=50, patience=2)
    assert history.valid_score == (0.0, 1.0, 3.0, 2.0, 3.0)  # an equal score is no better one
    assert (history.best_epoch, history.best_score, history.ended) == (2, 3.0, "patience")
    assert same(model.parameters(), shown[2])
    assert not same(shown[2], shown[4])
    assert not model.training


def test_a_run_that_still_improves_ends_with_its_epochs():
    score, _ = scripted(0.0, 1.0, 2.0, 3.0)
    history = train(line(), valid_score=score, epochs=3, patience=1)
    assert (history.best_epoch, history.ended, len(history.train_loss)) == (3, "epochs", 3)


def test_an_untrained_model_that_nothing_beats_comes_back():
    model = line()
    start = [p.clone() for p in model.parameters()]
    score, _ = scripted(1.0, 0.0, 0.0)
    assert train(model, valid_score=score, patience=2).best_epoch == 0
    assert same(model.parameters(), start)


def test_a_diverging_run_keeps_its_best_finite_state():
    model = line()
    history = train(model, lr=1e6, epochs=50, patience=50)
    assert history.ended == "diverged"
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_the_loss_of_an_epoch_is_the_mean_over_rows_not_over_batches():
    """Without a step (rate 0) every epoch must report the loss of the start, 60 = 3 * 16 + 12."""
    model = line()
    want = nn.functional.mse_loss(model(X), Y).item()
    assert train(model, lr=0.0, epochs=1).train_loss[0] == pytest.approx(want, rel=1e-5)


def test_valid_is_scored_in_evaluation_mode_without_gradients():
    modes = []

    def score(model):
        modes.append((model.training, torch.is_grad_enabled()))
        return 0.0

    seen = []
    train(
        line(),
        valid_score=score,
        epochs=2,
        on_epoch=lambda epoch, model: seen.append((epoch, model.training, torch.is_grad_enabled())),
    )
    assert modes == [(False, False)] * 3
    assert seen == [(1, False, False), (2, False, False)]


def test_training_lowers_the_loss():
    history = train(line(), epochs=40)
    assert history.train_loss[-1] < 0.1 * history.train_loss[0]


def test_progress_does_not_change_a_number(capsys):
    assert train(line(), progress=True) == train(line())


@pytest.mark.parametrize("name", ["epochs", "patience", "batch_size"])
def test_a_count_below_one_is_named(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        train(line(), **{name: 0})


def test_rows_that_do_not_match_are_named():
    with pytest.raises(ValueError, match="got 59 rows for 60"):
        fit(line(), None, X, Y[:59], optimizer=None, valid_score=None, epochs=1, patience=1, seed=0)


def test_a_bag_of_words_is_a_linear_layer_on_the_dense_rows():
    rng = np.random.default_rng(0)
    dense = (rng.random((6, 9)) * (rng.random((6, 9)) < 0.4)).astype(np.float32)
    dense[2] = 0  # a text without a known word
    layer = BagOfWords(9, 4)
    layer.bias.data.normal_()
    want = torch.from_numpy(dense) @ layer.bag.weight + layer.bias
    torch.testing.assert_close(layer(csr_array(dense)), want)
    with pytest.raises(ValueError, match=r"9 columns, got shape \(6, 8\)"):
        layer(csr_array(dense[:, :8]))


def test_a_bag_of_words_starts_with_the_stated_spread():
    with seeded(0):
        assert BagOfWords(400, 50, std=0.3).bag.weight.std().item() == pytest.approx(0.3, rel=0.02)
    assert BagOfWords(3, 2, std=0.0).bag.weight.abs().max() == 0


def test_predict_gives_every_row_in_order_whatever_the_batches():
    model = line(dropout=0.9)
    model.train()
    whole = predict(model, X)
    assert whole.shape == (60, 1)
    assert not whole.requires_grad
    torch.testing.assert_close(predict(model, X, batch_size=7), whole)


def test_log_odds_are_those_of_the_rate_and_finite_for_labels_never_or_always_present():
    rates = np.array([0.0, 0.25, 0.5, 1.0])
    got = log_odds(rates, clip=1e-3)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.sigmoid(), torch.tensor([1e-3, 0.25, 0.5, 1 - 1e-3]))


@pytest.mark.parametrize("rates", [[0.2, 1.2], [-0.1], [float("nan")]])
def test_rates_outside_0_and_1_are_refused(rates):
    with pytest.raises(ValueError, match=r"rates must be in \[0, 1\]"):
        log_odds(rates)


def test_a_clip_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="clip must be in"):
        log_odds([0.5], clip=0.5)


def test_a_history_reports_the_score_it_restored():
    assert History((1.0, 0.5), (0.1, 0.4, 0.3), 1, "epochs").best_score == 0.4

import numpy as np
import pytest
import torch

from logitlib.datasets import grouped_folds, load_debtags
from logitlib.studies._folds import canvas_fold, debtags_fold


@pytest.mark.parametrize("fold", [3, 9])
def test_test_choose_and_train_share_no_source_and_are_the_folds_they_should_be(fold):
    split = debtags_fold(fold, 50)
    sources = {name: set(getattr(split, name).groups) for name in ("train", "valid", "test")}
    numbers = {name: set(grouped_folds(sorted(part), 10)) for name, part in sources.items()}
    assert numbers["test"] == {fold}
    assert numbers["valid"] == {(fold + 1) % 10}
    assert numbers["train"] == set(range(10)) - numbers["test"] - numbers["valid"]


def test_words_and_labels_come_from_the_training_rows_alone(monkeypatch):
    """Other texts and tags in the test and the choosing fold must change no training number."""
    before = debtags_fold(3, 50)
    data = load_debtags(min_train_count=1)
    held_out = np.isin(grouped_folds(data.sources, 10), (3, 4))
    texts = ["quux" if out else text for text, out in zip(data.texts, held_out, strict=True)]
    labels = data.labels.toarray()
    labels[held_out] = 0
    labels[held_out, 7] = 1
    from dataclasses import replace

    from scipy.sparse import csr_array

    from logitlib.studies import _folds

    changed = replace(data, texts=texts, labels=csr_array(labels))
    monkeypatch.setattr(_folds, "_debtags", lambda: changed)
    after = _folds.debtags_fold.__wrapped__(3, 50)
    assert (before.train.inputs != after.train.inputs).nnz == 0
    assert torch.equal(before.train.targets, after.train.targets)
    assert after.test.inputs.nnz == 0


def test_every_row_has_a_label_and_every_label_its_training_rows():
    split = debtags_fold(3, 50)
    assert split.train.targets.sum(0).min() >= 50
    for part in (split.train, split.valid, split.test):
        assert part.targets.sum(1).min() >= 1
        assert part.inputs.shape[0] == part.targets.shape[0] == len(part.groups)
        assert part.inputs.dtype == np.float32


def test_rates_and_label_groups_follow_the_training_rows():
    split = debtags_fold(3, 5)
    rates = split.train.targets.numpy().mean(axis=0)
    np.testing.assert_allclose(split.rates, rates, rtol=1e-6)
    groups = np.array(split.label_groups)
    assert rates[groups == "head"].min() >= 0.05 > rates[groups == "torso"].max()
    assert rates[groups == "torso"].min() >= 0.005 > rates[groups == "tail"].max()


def test_canvases_of_the_three_parts_and_of_the_tail_differ():
    flat, tail = canvas_fold(0, (200, 60, 70), False), canvas_fold(0, (200, 60, 70), True)
    assert [len(p.groups) for p in (flat.train, flat.valid, flat.test)] == [200, 60, 70]
    assert flat.train.inputs.shape == (200, 1, 36, 36)
    assert tail.rates[0] > 4 * tail.rates[9]
    assert abs(flat.rates[0] - flat.rates[9]) < 0.15

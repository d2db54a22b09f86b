import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_digits

from logitlib.datasets import make_digit_canvases
from logitlib.datasets.digits import POOLS, _overlap

DIGITS = load_digits()


@pytest.fixture(scope="module", params=["train", "valid", "test"])
def canvases(request):
    return make_digit_canvases(400, split=request.param, seed=0)


def test_shapes_kinds_and_ranges(canvases):
    assert canvases.images.shape == (400, 36, 36)
    assert canvases.images.dtype == np.float32
    assert canvases.images.min() == 0
    assert canvases.images.max() == 1
    assert canvases.labels.shape == (400, 10)
    assert canvases.labels.dtype == np.uint8
    assert canvases.digit_rows.shape == (400, 5)
    assert repr(canvases) == "<DigitCanvases: 400 images of 36 x 36, 10 labels>"


def test_labels_are_the_classes_of_the_pasted_digits_each_once(canvases):
    for label_set, rows in zip(canvases.labels, canvases.digit_rows, strict=True):
        classes = DIGITS.target[rows[rows >= 0]]
        assert len(set(classes)) == len(classes)
        assert np.flatnonzero(label_set).tolist() == sorted(classes)


def test_absent_digits_are_minus_one_at_the_end(canvases):
    present = canvases.digit_rows >= 0
    assert present[:, 0].all()
    assert (np.diff(present.astype(int), axis=1) <= 0).all()
    assert (canvases.digit_rows[~present] == -1).all()


def test_the_ink_of_a_canvas_is_the_ink_of_its_digits(canvases):
    ink = np.append(DIGITS.images.sum(axis=(1, 2)) / 16, 0.0)  # row -1: no digit
    want = ink[canvases.digit_rows].sum(axis=1)
    np.testing.assert_allclose(canvases.images.sum(axis=(1, 2)), want, rtol=1e-5)


def test_every_digit_is_somewhere_on_its_canvas_pixel_by_pixel(canvases):
    for image, rows in zip(canvases.images[:60], canvases.digit_rows[:60], strict=True):
        squares = sliding_window_view(image, (8, 8))
        for row in rows[rows >= 0]:
            assert (squares == DIGITS.images[row] / 16).all(axis=(2, 3)).any()


def test_no_digit_loses_ink_on_the_fullest_canvas_that_is_allowed():
    canvases = make_digit_canvases(300, split="train", seed=3, size=51, max_digits=10)
    assert canvases.labels.sum(axis=1).max() == 10
    ink = np.append(DIGITS.images.sum(axis=(1, 2)) / 16, 0.0)
    want = ink[canvases.digit_rows].sum(axis=1)
    np.testing.assert_allclose(canvases.images.sum(axis=(1, 2)), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("second", "present", "overlaps"),
    [
        ((7, 0), (True, True), True),
        ((8, 0), (True, True), False),
        ((0, 8), (True, True), False),
        ((7, 7), (True, True), True),
        ((7, 7), (True, False), False),
    ],
)
def test_squares_overlap_when_closer_than_8_pixels_in_both_directions(second, present, overlaps):
    corners, present = np.array([[(0, 0), second]]), np.array([present])
    assert _overlap(corners, present).tolist() == [overlaps]
    assert _overlap(corners[:, ::-1], present[:, ::-1]).tolist() == [overlaps]


def test_places_reach_every_part_of_the_canvas_and_both_coordinates_vary():
    ink = make_digit_canvases(4000, split="train", seed=1).images.mean(axis=0)
    rows, columns = ink.sum(axis=1), ink.sum(axis=0)
    # the outermost two columns of a digit's square are almost empty, so are the canvas's
    assert (rows > 0).all()
    assert (columns[2:-2] > 0).all()
    # one digit alone is uniform over 29 x 29 places: the centre of its ink spreads by 29/sqrt(12)
    single = make_digit_canvases(4000, split="train", seed=1, max_digits=1).images
    centre = (single.sum(axis=2) @ np.arange(36)) / single.sum(axis=(1, 2))
    assert centre.std() == pytest.approx(29 / np.sqrt(12), rel=0.05)


def test_the_number_of_digits_is_uniform_from_one_to_max_digits():
    labels = make_digit_canvases(5000, split="train", seed=2, max_digits=4, size=32).labels
    counts = np.bincount(labels.sum(axis=1), minlength=5)
    assert counts[0] == 0
    # 1,250 each; 5 standard deviations are 153
    assert np.abs(counts[1:] - 1250).max() < 153


def test_pools_are_disjoint_cover_all_digits_and_start_with_a_new_writer():
    rows = {}
    for split in POOLS:
        drawn = make_digit_canvases(6000, split=split, seed=0).digit_rows
        rows[split] = set(drawn[drawn >= 0].tolist())
        assert min(np.bincount(DIGITS.target[sorted(rows[split])])) >= 25
        # every writer copies the same sequence, which starts so
        start = min(rows[split])
        assert DIGITS.target[start : start + 20].tolist() == [*range(10), *range(10)]
    assert sum(map(len, rows.values())) == len(set().union(*rows.values())) == 1797


def test_the_same_arguments_give_the_same_canvases_and_other_seeds_others():
    def make(split, seed):
        return make_digit_canvases(50, split=split, seed=seed)

    first, again, other = make("train", 7), make("train", 7), make("train", 8)
    assert np.array_equal(first.images, again.images)
    assert np.array_equal(first.labels, again.labels)
    assert np.array_equal(first.digit_rows, again.digit_rows)
    assert not np.array_equal(first.labels, other.labels)
    # the same seed for another split must not repeat the label sets
    assert not np.array_equal(first.labels, make("test", 7).labels)


def test_label_weights_are_the_probabilities_of_a_single_draw():
    weights = 0.5 ** np.arange(10)
    labels = make_digit_canvases(
        20_000, split="train", seed=0, max_digits=1, label_weights=weights
    ).labels
    share = weights / weights.sum()
    # 5 standard deviations of a share
    tolerance = 5 * np.sqrt(share * (1 - share) / 20_000)
    assert (np.abs(labels.mean(axis=0) - share) < tolerance).all()


def test_without_weights_all_classes_are_alike():
    labels = make_digit_canvases(5000, split="train", seed=0).labels
    # 3 of 10 on average; 5 standard deviations are .033
    assert np.abs(labels.mean(axis=0) - 0.3).max() < 0.033


def test_a_class_of_weight_zero_never_appears():
    weights = [0, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    labels = make_digit_canvases(500, split="train", seed=0, label_weights=weights).labels
    assert labels.sum(axis=0)[[0, 6, 7, 8, 9]].sum() == 0
    assert labels.sum(axis=1).max() == 5


def test_no_canvas_is_an_empty_set_and_no_error():
    canvases = make_digit_canvases(0, split="test", seed=0)
    assert canvases.images.shape == (0, 36, 36)
    assert canvases.labels.shape == (0, 10)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_canvases": -1}, ValueError, "n_canvases must be at least 0, got -1"),
        ({"n_canvases": 2.0}, TypeError, "n_canvases must be an int, got 2.0 of type float"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
        ({"seed": None}, TypeError, "seed must be an int, got None of type NoneType"),
        ({"split": "dev"}, ValueError, "split must be one of train, valid, test; got 'dev'"),
        ({"max_digits": 0}, ValueError, "max_digits must be 1 to 10, got 0"),
        ({"max_digits": 11}, ValueError, "max_digits must be 1 to 10, got 11"),
        ({"size": 35}, ValueError, "size for max_digits=5 must be at least 36, got 35"),
        ({"size": 50, "max_digits": 10}, ValueError, "max_digits=10 must be at least 51, got 50"),
        ({"label_weights": [1, 2]}, ValueError, r"must hold 10 numbers, got shape \(2,\)"),
        ({"label_weights": [-1] + 9 * [1]}, ValueError, "label_weights must be finite and at"),
        ({"label_weights": [np.nan] + 9 * [1]}, ValueError, "label_weights must be finite and"),
        ({"label_weights": [1] + 9 * [0]}, ValueError, "max_digits=5 entries above 0, got 1"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    with pytest.raises(error, match=message):
        make_digit_canvases(**{"n_canvases": 3, "split": "train", "seed": 0} | change)

"""The page about the data quotes figures; each is computed here from the shipped file."""

import csv
import gzip
import hashlib
from collections import Counter
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from logitlib.datasets import grouped_folds, load_debtags

SHIPPED = (resources.files("logitlib.datasets") / "debtags.tsv.gz").read_bytes()
PAGE = " ".join((Path(__file__).parents[2] / "book" / "debtags.md").read_text().split())


@pytest.fixture(scope="module")
def rows():
    lines = gzip.decompress(SHIPPED).decode().split("\n")
    rows = list(csv.DictReader(filter(None, lines), delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row | {"tags": row["tags"].split(), "role": row["role"].split()} for row in rows]


@pytest.fixture(scope="module")
def uses(rows):
    return Counter(tag for row in rows for tag in row["tags"])


@pytest.fixture(scope="module")
def data():
    return load_debtags()


def quoted(*fragments: str) -> None:
    missing = [fragment for fragment in fragments if fragment not in PAGE]
    assert not missing


def table_row(name: str, values) -> str:
    return " | ".join([f"| {name}", *map(str, values)]) + " |"


def test_sizes_and_digest(rows, uses):
    words = np.mean([len(f"{row['short']} {row['long']}".split()) for row in rows])
    assert max(len(row["long"]) for row in rows) == 300
    assert [row["package"] for row in rows] == sorted(row["package"] for row in rows)
    quoted(
        hashlib.sha256(SHIPPED).hexdigest(),
        f"({len(SHIPPED) / 1e6:.1f} MB",
        f"{len(rows):,} texts, {len(uses)} tags",
        f"one of {len({row['section'] for row in rows})} |",
        f"empty in {sum(not row['long'] for row in rows)} rows",
        f"joined by a blank: {words:.0f} words on average",
    )


def test_sides_and_folds(rows, data):
    for side in ("train", "valid", "test"):
        of_side = [row["source"] for row in rows if row["split"] == side]
        quoted(table_row(side, [f"{len(of_side):,}", f"{len(set(of_side)):,}"]))
    quoted(table_row("all", [f"{len(rows):,}", f"{len(set(data.sources)):,}"]))
    sizes = np.bincount(grouped_folds(data.sources))
    quoted(f"ten folds, again by a hash of the source, of {min(sizes):,} to {max(sizes):,} rows")


def test_tags_a_row_and_rows_a_tag(rows, uses):
    sizes = np.array([len(row["tags"]) for row in rows])
    shares = [f"{100 * np.mean(sizes <= k):.1f}" for k in (1, 2, 3, 5, 8, 10, 12, 16, 20)]
    training = Counter(tag for row in rows if row["split"] == "train" for tag in row["tags"])
    counts = [sum(n >= m for n in training.values()) for m in (1, 2, 5, 10, 20, 50, 100, 500)]
    unseen = set(uses) - set(training)
    in_test = unseen & {tag for row in rows if row["split"] == "test" for tag in row["tags"]}
    quoted(
        f"A row has {min(sizes)} to {max(sizes)} tags, {sizes.mean():.2f} on average, "
        f"{np.median(sizes):.0f} in the median",
        table_row("share of all rows, %", [*shares, f"{100 * np.mean(sizes <= 32):.2f}"]),
        table_row("number of tags", counts),
        f"{len(unseen)} of the {len(uses)} tags have no training row; {len(in_test)} of them",
    )


def test_the_long_tail(uses):
    counts = [count for _, count in uses.most_common()]
    total = sum(counts)
    quoted(
        f"hold {100 * sum(counts[:10]) / total:.0f} % of the {total:,} uses, "
        f"the fifty commonest {100 * sum(counts[:50]) / total:.0f} %",
        f"the median tag has {np.median(counts):.0f} uses",
        *(f"`{tag}` ({count:,})" for tag, count in uses.most_common(6)),
    )


def test_label_sets_and_rare_labels(data):
    sets = [tuple(row.nonzero()[0]) for row in data.labels.toarray()]
    train, test = ([sets[row] for row in data.rows(side)] for side in ("train", "test"))
    new = sum(label_set not in set(train) for label_set in test)
    positives = data.labels[data.rows("test")].sum(axis=0)
    assert sets.count(()) == train.count(())
    quoted(
        f"the {len(data.label_names)} tags with at least 5 training rows. "
        f"With them {sets.count(())} rows",
        f"the {len(test):,} test rows have {len(set(test)):,} different sets, up to "
        f"{max(map(len, test))} labels large, and {new} test rows ({100 * new / len(test):.0f} %)",
        f"{(positives == 0).sum()} of the {len(positives)} labels have no positive test row, and "
        f"{(positives <= 2).sum()} at most two",
    )


def test_missing_tags(rows):
    programs = [row for row in rows if "role::program" in row["role"]]
    share = {
        facet: 100
        * np.mean([any(tag.startswith(facet) for tag in row["tags"]) for row in programs])
        for facet in ("implemented-in::", "interface::")
    }
    quoted(
        f"of the {len(programs):,} rows with `role::program` only "
        f"{share['implemented-in::']:.0f} % have an `implemented-in` tag, and "
        f"{share['interface::']:.0f} % an `interface` tag",
    )


def test_implications(rows, uses):
    for tag, implied in [
        ("interface::graphical", "interface::x11"),
        ("x11::application", "interface::x11"),
        ("works-with::image:raster", "works-with::image"),
        ("works-with-format::mp3", "works-with::audio"),
    ]:
        assert all(implied in row["tags"] for row in rows if tag in row["tags"])
    quoted(
        f"All {uses['interface::graphical']:,} rows with `interface::graphical` have "
        f"`interface::x11` ({uses['interface::x11']:,} rows)",
        f"all {uses['x11::application']:,} with `x11::application`",
        f"all {uses['works-with::image:raster']} with `works-with::image:raster`",
        f"all {uses['works-with-format::mp3']} with `works-with-format::mp3`",
    )


def test_tags_in_the_text_and_near_copies(rows, uses):
    named = {}
    for tag in (tag for tag, count in uses.items() if count >= 10):
        texts = [f"{row['short']} {row['long']}".lower() for row in rows if tag in row["tags"]]
        named[tag] = 100 * np.mean([tag.rsplit(":", 1)[1].lower() in text for text in texts])
    train, test = ([row for row in rows if row["split"] == side] for side in ("train", "test"))
    shorts = {row["short"] for row in train}
    texts = {(row["short"], row["long"]) for row in train}
    quoted(
        f"For the {len(named)} tags with 10 or more uses, "
        f"{np.mean(list(named.values())):.0f} % of the positives",
        f"`x11::font` {named['x11::font']:.0f} %, `uitoolkit::gtk` {named['uitoolkit::gtk']:.0f} %",
        f"{sum(row['short'] in shorts for row in test)} test rows share their short description",
        f"{sum((row['short'], row['long']) in texts for row in test)} of them the whole text",
    )

import csv
import gzip
import hashlib
import subprocess
import sys
import zipfile
from collections import Counter
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import logitlib
from logitlib.datasets import debtags, load_debtags, tfidf_vectorizer

SHIPPED = resources.files("logitlib.datasets") / "debtags.tsv.gz"
HEADER = "split\tpackage\tsource\tsection\trole\ttags\tshort\tlong\n"


@pytest.fixture(scope="module")
def data():
    return load_debtags()


@pytest.fixture(scope="module")
def records():
    """The shipped file as the csv module reads it, independent of the loader."""
    lines = gzip.decompress(SHIPPED.read_bytes()).decode().split("\n")
    return list(csv.DictReader(filter(None, lines), delimiter="\t", quoting=csv.QUOTE_NONE))


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_every_field_is_the_column_of_the_file(data, records):
    for field, column in [
        ("packages", "package"),
        ("sources", "source"),
        ("sections", "section"),
        ("roles", "role"),
        ("split", "split"),
    ]:
        assert getattr(data, field).tolist() == [record[column] for record in records]
    joined = [f"{record['short']} {record['long']}" for record in records]
    assert data.texts == [text.rstrip() for text in joined]


def test_labels_are_the_tags_of_each_row_that_are_frequent_enough(data, records):
    assert isinstance(data.labels, csr_array)
    assert data.labels.dtype == np.uint8
    assert data.label_names == sorted(set(data.label_names))
    names = np.array(data.label_names)
    dense = data.labels.toarray()
    assert set(np.unique(dense)) == {0, 1}
    for row, record in zip(dense, records, strict=True):
        wanted = set(record["tags"].split()) & set(data.label_names)
        assert set(names[row == 1].tolist()) == wanted


def test_the_figures_of_the_data_card(data, records):
    assert len(records) == len(data.texts) == 11_809
    assert len(set(data.packages)) == 11_809
    assert len(set(data.sources)) == 8_481
    assert len(set(data.sections)) == 53
    assert Counter(data.split.tolist()) == {"train": 9_381, "valid": 1_226, "test": 1_202}
    tags = [record["tags"].split() for record in records]
    assert len({tag for row in tags for tag in row}) == 558
    sizes = [len(row) for row in tags]
    assert (sum(sizes), max(sizes), np.median(sizes)) == (61_003, 59, 5)
    assert sum(not record["long"] for record in records) == 136


def test_seven_in_ten_test_rows_have_a_label_set_that_no_training_row_has(data):
    sets = [tuple(row.nonzero()[0]) for row in data.labels.toarray()]
    train = {sets[row] for row in data.rows("train")}
    test = [sets[row] for row in data.rows("test")]
    assert sum(label_set not in train for label_set in test) == 826
    assert (len(set(test)), max(map(len, test))) == (1_013, 26)


@pytest.mark.parametrize(
    ("min_train_count", "n_labels"),
    [(1, 549), (2, 538), (5, 476), (10, 412), (20, 311), (50, 184), (100, 96), (500, 15)],
)
def test_number_of_labels_at_each_threshold(min_train_count, n_labels):
    data = load_debtags(min_train_count=min_train_count)
    assert data.labels.shape == (11_809, n_labels)
    assert len(data.label_names) == n_labels
    assert data.labels[data.rows("train")].sum(axis=0).min() >= min_train_count


def test_no_source_is_on_two_sides_and_the_side_is_the_documented_hash(data):
    assert len(set(zip(data.sources, data.split, strict=True))) == len(set(data.sources))
    for source, split in zip(data.sources, data.split, strict=True):
        digest = hashlib.sha256(f"debtags-split-1:{source}".encode()).hexdigest()
        percent = int(digest[:12], 16) % 100
        assert split == ("train" if percent < 80 else "valid" if percent < 90 else "test")


def test_the_sides_partition_the_rows(data):
    sides = [data.rows(split) for split in ("train", "valid", "test")]
    assert np.array_equal(np.sort(np.concatenate(sides)), np.arange(11_809))
    assert (data.split[data.rows("valid")] == "valid").all()
    with pytest.raises(ValueError, match="split must be one of train, valid, test; got 'dev'"):
        data.rows("dev")


def test_rows_that_keep_no_label_stay(data):
    empty = np.flatnonzero(data.labels.sum(axis=1) == 0)
    assert len(empty) == 13
    assert set(data.split[empty]) == {"train"}


def test_repr_is_one_line_and_not_the_data(data):
    assert repr(data) == ("<Debtags: 11809 rows (9381 train, 1226 valid, 1202 test), 476 labels>")


def flipped(content: bytes, position: int) -> bytes:
    changed = bytearray(content)
    changed[position] ^= 1
    return bytes(changed)


@pytest.mark.parametrize(
    "damage",
    [
        # byte 9 names the operating system: gzip ignores it, only the digest sees it
        lambda content: flipped(content, 9),
        lambda content: flipped(content, len(content) // 2),
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\0",
        lambda content: b"",
    ],
    ids=["flipped header byte", "flipped byte", "truncated", "longer", "empty"],
)
def test_a_damaged_package_file_is_refused_with_both_digests_and_a_remedy(
    tmp_path, monkeypatch, damage
):
    damaged = damage(SHIPPED.read_bytes())
    (tmp_path / "debtags.tsv.gz").write_bytes(damaged)
    monkeypatch.setattr(debtags.resources, "files", lambda package: tmp_path)
    with pytest.raises(ValueError, match="is damaged") as caught:
        load_debtags()
    message = str(caught.value)
    assert str(tmp_path / "debtags.tsv.gz") in message
    assert hashlib.sha256(damaged).hexdigest() in message
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() in message
    assert "Install logitlib again" in message


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: flipped(content, len(content) // 2),
        lambda content: flipped(content, len(content) - 6),
        lambda content: content[:10] + b"\x07" + content[11:],  # deflate has no such block
        lambda content: content[: len(content) // 2],
        lambda content: gzip.decompress(content),
        lambda content: gzip.compress(b"\xff\xfe" * 20),
    ],
    ids=["flipped byte", "flipped checksum", "no block", "truncated", "not gzip", "not UTF-8"],
)
def test_an_unreadable_file_of_the_caller_is_named(tmp_path, damage):
    path = tmp_path / "mine.tsv.gz"
    path.write_bytes(damage(SHIPPED.read_bytes()))
    with pytest.raises(ValueError, match=r"mine\.tsv\.gz must be gzip of UTF-8 text, and is not"):
        load_debtags(path)


ROW = "train\ta\ta\tnet\trole::program\tx::y\tshort\tlong\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER.replace("tags", "labels") + ROW, "line 1: the header must be split package"),
        ("", "line 1: the header must be split package"),
        (HEADER, "must have at least one row after its header, got none"),
        (HEADER + ROW + "train\ta\ta\n" + ROW, "line 3: 8 columns expected, got 3"),
        (HEADER + ROW + ROW.replace("\n", "\tmore\n"), "line 3: 8 columns expected, got 9"),
        (HEADER + ROW + "\n" + ROW, "line 3: 8 columns expected, got 1"),
        (HEADER + ROW.replace("train", "dev"), "line 2: split must be one of .* got 'dev'"),
    ],
    ids=["header", "no text", "no rows", "short row", "long row", "blank line", "split"],
)
def test_malformed_content_is_named_with_its_line(tmp_path, text, message):
    path = write(tmp_path / "mine.tsv.gz", text)
    with pytest.raises(ValueError, match=rf"mine\.tsv\.gz.*{message}"):
        load_debtags(path, min_train_count=1)


def test_another_file_of_the_format_is_read_and_only_training_rows_count(tmp_path):
    rows = [
        "train\ta\ta\tnet\trole::program\tx::common x::common x::once\tshort\tlong",
        "train\tb\tb\tnet\t\tx::common\tno long text\t",
        "valid\tc\tc\tnet\t\tx::common x::once x::new\tthird\ttext",
        "test\td\td\tnet\t\tx::new\tfourth\ttext",
    ]
    path = write(tmp_path / "mine.tsv.gz", HEADER + "\n".join(rows) + "\n")
    data = load_debtags(str(path), min_train_count=2)
    assert data.label_names == ["x::common"]
    assert data.labels.toarray().tolist() == [[1], [1], [1], [0]]
    assert data.texts == ["short long", "no long text", "third text", "fourth text"]
    assert data.roles.tolist() == ["role::program", "", "", ""]
    with pytest.raises(ValueError, match="min_train_count=3 keeps no label"):
        load_debtags(path, min_train_count=3)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (0, ValueError, "min_train_count must be at least 1, got 0"),
        (-1, ValueError, "min_train_count must be at least 1, got -1"),
        (10_000, ValueError, "min_train_count=10000 keeps no label"),
        (5.0, TypeError, "min_train_count must be an int, got 5.0 of type float"),
        (True, TypeError, "min_train_count must be an int, got True of type bool"),
    ],
)
def test_a_bad_threshold_is_named(value, error, message):
    with pytest.raises(error, match=message):
        load_debtags(min_train_count=value)


def test_a_missing_file_stays_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        load_debtags(tmp_path / "absent.tsv.gz")


def test_the_set_loads_from_a_package_inside_a_zip_file(tmp_path):
    package = Path(logitlib.__file__).parent
    archive = tmp_path / "logitlib.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for name in ["__init__.py", "datasets"]:
            for file in [package / name, *sorted((package / name).glob("*.*"))]:
                if file.is_file():
                    target.write(file, file.relative_to(package.parent))
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "from logitlib.datasets import debtags, load_debtags\n"
        "print('.zip' in debtags.__file__, load_debtags().labels.shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True (11809, 476)"


def test_tfidf_rows_are_sublinear_counts_times_idf_scaled_to_length_one():
    texts = ["C++ c++ tools 2x", "c++ Tools", "tools c++ c", "tools"]
    vectorizer = tfidf_vectorizer()
    features = vectorizer.fit_transform(texts)
    assert list(vectorizer.get_feature_names_out()) == ["c++", "tools"]
    # c++ is in 3 of the 4 texts, tools in all
    row = np.array([(1 + np.log(2)) * (1 + np.log(5 / 4)), 1.0])
    np.testing.assert_allclose(features[[0]].toarray()[0], row / np.linalg.norm(row), rtol=1e-6)
    assert features.dtype == np.float32
    assert features.format == "csr"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C, C++ and C#", ["c", "c++", "and", "c#"]),
        ("h264 7zip x11", ["h264", "7", "zip", "x11"]),
        ("it's low-level +5", ["it", "s", "low", "level", "5"]),
    ],
)
def test_words_are_letters_then_letters_digits_plus_or_hash(text, words):
    assert tfidf_vectorizer().build_analyzer()(text) == words


def test_training_rows_have_6753_words(data):
    vectorizer = tfidf_vectorizer().fit([data.texts[row] for row in data.rows("train")])
    features = vectorizer.transform(data.texts)
    assert features.shape == (11_809, 6_753)
    norms = np.sqrt(features.multiply(features).sum(axis=1))
    np.testing.assert_allclose(norms, 1, rtol=1e-5)  # no text without a known word

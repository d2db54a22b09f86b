r"""Debtags: short descriptions of Debian packages and the tags that volunteers gave them."""

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from logitlib.datasets._check import check_int

SHA256 = "38e46290297358c78df6e728a3df3cfe4a26526965d0bf68151de17573fccf63"
COLUMNS = ("split", "package", "source", "section", "role", "tags", "short", "long")
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Debtags:
    """A multi-label text set; row i of every field is the same package.

    Attributes
    ----------
    texts : list of str
        One-line description and the start of the long one, joined by a blank.
    packages : ndarray of str, shape (n_rows,)
        Package name: a key, not for use as text, because it gives tags away.
    sources : ndarray of str, shape (n_rows,)
        Source package, the group that a split must keep whole.
    sections : ndarray of str, shape (n_rows,)
        Section of the archive, such as "games".
    roles : ndarray of str, shape (n_rows,)
        Tags that say what part a package plays, separated by blanks; they are no labels.
    split : ndarray of str, shape (n_rows,)
        "train", "valid" or "test".
    labels : csr_array of uint8, shape (n_rows, n_labels)
        1 where the package has the tag. Convert before multiplying: uint8 products wrap at 256.
    label_names : list of str, length n_labels
        The tags, sorted.
    """

    texts: list[str]
    packages: np.ndarray
    sources: np.ndarray
    sections: np.ndarray
    roles: np.ndarray
    split: np.ndarray
    labels: csr_array
    label_names: list[str]

    def rows(self, split: str) -> np.ndarray:
        """Row numbers (int64, ascending) of "train", "valid" or "test"."""
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
        return np.flatnonzero(self.split == split)

    def __repr__(self) -> str:
        n_rows, n_labels = self.labels.shape
        sizes = ", ".join(f"{len(self.rows(split))} {split}" for split in SPLITS)
        return f"<Debtags: {n_rows} rows ({sizes}), {n_labels} labels>"


def load_debtags(
    path: str | os.PathLike[str] | None = None, *, min_train_count: int = 5
) -> Debtags:
    """Load the debtags set: 11,809 texts, each with a few of many labels.

    Parameters
    ----------
    path : str or path, optional
        Another file of the same format. Without it, the file in this package is read and its
        SHA-256 digest compared with the one in this module.
    min_train_count : int
        A tag becomes a label if at least so many training rows have it; at least 1.

    Returns
    -------
    Debtags
        Rows in the order of the file, with 476 labels by default.

    Raises
    ------
    TypeError
        If min_train_count is not an int.
    ValueError
        If the file is damaged or in another format (the message names the file, and the line
        where there is one), or if min_train_count is below 1 or keeps no label.
    OSError
        If the file cannot be opened.

    Notes
    -----
    Rows that keep no label stay in, so that row numbers do not depend on min_train_count: by
    default 13, all of them training rows. Drop them where a loss needs at least one label. Tags
    may be missing: volunteers tag what they notice, so a measured false positive may be true.

    Examples
    --------
    >>> data = load_debtags()
    >>> data
    <Debtags: 11809 rows (9381 train, 1226 valid, 1202 test), 476 labels>
    >>> data.texts[0][:42]
    'Real-time strategy game of ancient warfare'
    >>> [data.label_names[j] for j in data.labels[[0]].indices[:3]]
    ['game::strategy', 'interface::graphical', 'interface::x11']
    """
    check_int("min_train_count", min_train_count, 1)
    if path is None:
        shipped = resources.files("logitlib.datasets").joinpath("debtags.tsv.gz")
        name, content = str(shipped), shipped.read_bytes()
        _check_digest(content, name)
    else:
        name, content = os.fspath(path), Path(path).read_bytes()
    rows = _read_rows(content, name)
    split, packages, sources, sections, roles, tags, short, long = zip(*rows, strict=True)
    labels, label_names = _labels(tags, np.array(split) == "train", min_train_count)
    return Debtags(
        texts=[f"{a} {b}".rstrip() for a, b in zip(short, long, strict=True)],
        packages=np.array(packages),
        sources=np.array(sources),
        sections=np.array(sections),
        roles=np.array(roles),
        split=np.array(split),
        labels=labels,
        label_names=label_names,
    )


def tfidf_vectorizer() -> TfidfVectorizer:
    r"""Unfitted TF-IDF features, :math:`(1 + \log \mathrm{tf})\,\mathrm{idf}` in rows of length 1.

    Words are lower case; a word is a letter followed by letters, digits, ``+`` or ``#`` (so "c++"
    and "c#" are words, and so is "c"), or a run of digits. A word needs 3 rows of the texts that
    the vectorizer is fitted on; fit it on training rows only.

    Returns
    -------
    sklearn.feature_extraction.text.TfidfVectorizer
        ``transform`` gives a sparse CSR float32 matrix; a text without a known word gives a row
        of zeros.

    Notes
    -----
    The inverse document frequency is scikit-learn's smooth one,
    :math:`1 + \log\frac{1 + n}{1 + \mathrm{df}}` for n texts. Letters are a to z; others split
    words.

    Examples
    --------
    >>> vectorizer = tfidf_vectorizer()
    >>> features = vectorizer.fit_transform(["C++ tools", "tools for C++", "c++ tools, 2 of them"])
    >>> list(vectorizer.get_feature_names_out()), features.dtype.name
    (['c++', 'tools'], 'float32')
    """
    return TfidfVectorizer(
        lowercase=True,
        token_pattern=r"[a-z][a-z0-9+#]*|[0-9]+",
        min_df=3,
        sublinear_tf=True,
        dtype=np.float32,
    )


def _check_digest(content: bytes, name: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256:
        raise ValueError(
            f"{name} is damaged: its SHA-256 digest is {found}, expected {SHA256}. "
            "Install logitlib again, or restore the file from its repository."
        )


def _read_rows(content: bytes, name: str) -> list[list[str]]:
    try:
        text = gzip.decompress(content).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{name} must be gzip of UTF-8 text, and is not: {error}") from error
    header, *lines = text.removesuffix("\n").split("\n")
    if header != "\t".join(COLUMNS):
        raise ValueError(
            f"{name}, line 1: the header must be {' '.join(COLUMNS)}, separated by tabs; "
            f"got {header[:80]!r}"
        )
    if not lines:
        raise ValueError(f"{name} must have at least one row after its header, got none")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(COLUMNS):
            raise ValueError(
                f"{name}, line {number}: {len(COLUMNS)} columns expected, got {len(row)}"
            )
        if row[0] not in SPLITS:
            raise ValueError(
                f"{name}, line {number}: split must be one of {', '.join(SPLITS)}; got {row[0]!r}"
            )
    return rows


def _labels(
    tags: tuple[str, ...], train: np.ndarray, min_train_count: int
) -> tuple[csr_array, list[str]]:
    # binary: a tag that a row names twice is one label
    counter = CountVectorizer(
        analyzer=str.split, binary=True, min_df=min_train_count, dtype=np.uint8
    )
    try:
        counter.fit([row for row, is_train in zip(tags, train, strict=True) if is_train])
    except ValueError as error:
        raise ValueError(
            f"min_train_count={min_train_count} keeps no label: no tag has so many training rows"
        ) from error
    return csr_array(counter.transform(tags)), list(counter.get_feature_names_out())

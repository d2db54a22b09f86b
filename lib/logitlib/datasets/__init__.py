"""Data for the chapters: real package tags (shipped), digit canvases (made), grouped folds."""

from logitlib.datasets.debtags import Debtags, load_debtags, tfidf_vectorizer
from logitlib.datasets.digits import DigitCanvases, make_digit_canvases
from logitlib.datasets.folds import grouped_folds

__all__ = [
    "Debtags",
    "load_debtags",
    "tfidf_vectorizer",
    "DigitCanvases",
    "make_digit_canvases",
    "grouped_folds",
]

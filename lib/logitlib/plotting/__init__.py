"""Figures of the book: one style, one module a family of figures (needs the extra ``book``)."""

"""Symbolic building blocks that the chapters share (SymPy; needs the extra ``book``)."""

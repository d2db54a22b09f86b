"""Losses, metrics, data and studies behind the book on what an output layer can learn.

Import what is needed from its module, for example ``from logitlib.losses import
binary_cross_entropy``. This file stays empty on purpose: importing ``logitlib`` is fast, and a
chapter depends on the modules it names, not on everything.
"""

__version__ = "0.1.0"

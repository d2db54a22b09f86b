"""One hypothesis profile for all tests: reproducible, and no time limit per example.

The first call into torch takes longer than hypothesis' default limit of 200 ms.
"""

from hypothesis import settings

settings.register_profile("logitlib", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("logitlib")

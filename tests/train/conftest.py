"""What the files of models have in common."""

from __future__ import annotations

import pytest
from model_files import people


@pytest.fixture(scope="session")
def tree():
    """skops' file of a small decision tree on two columns."""
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    frame, classes = people()
    return skops.io.dumps(DecisionTreeClassifier(max_depth=2, random_state=1).fit(frame[["age", "pay"]], classes))

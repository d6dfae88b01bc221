"""What the report tells a data user of noise."""

from __future__ import annotations

import pytest

from tasks.mask.noise.noise import Noise, describe_noise

SPACE = "\u202f"


def noise(kind, **parameters):
    return describe_noise(Noise(method="noise", kind=kind, sd_percent=50.0, attributes=("age", "income"), **parameters))


@pytest.mark.parametrize(
    ("kind", "title", "corrected"),
    [  # k = .25: 1 + k = 1.25, 1 / 1.25 = .8, 1 / sqrt 1.25 = .8944
        ("independent", "Independent noise", ["variances of these attributes are 1 + k = 1.25 times", "is 0.8 of", "0.8944"]),
        (
            "correlated",
            "Correlated noise",
            ["variances and covariances of these attributes are 1 + k = 1.25", "0.8944", "is 0.8 of"],
        ),
        ("variance_restoring", "Variance-restoring noise", ["need no correction", "divide by 0.8944"]),
        (
            "multiplicative",
            "Multiplicative noise",
            ["variances of these attributes are 1 + k = 1.25 times", "is 0.8 of", "0.8944"],
        ),
    ],
)
def test_how_an_analysis_corrects(kind, title, corrected):
    words = noise(kind)
    assert words.title == f"{title}, 50{SPACE}% of the standard deviation"
    assert f"50{SPACE}% of each attribute's own standard deviation" in words.text
    for phrase in corrected:
        assert phrase in " ".join(words.analysts)
    assert not any("each of them" in sentence for sentence in words.analysts)
    assert words.analysts[-1] != noise(kind, by=("sex",)).analysts[-1]


def test_what_stays_certain_is_said():
    assert "a zero stays a zero" in noise("multiplicative").text
    assert "negative age" in noise("independent").text
    for kind in ("independent", "multiplicative"):
        assert "a gap stays a gap" in noise(kind).missing

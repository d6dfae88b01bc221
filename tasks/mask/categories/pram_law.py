"""What PRAM that is drawn once for each person and value keeps from the first release of its series. Private."""

from __future__ import annotations

from tasks.microdata.spec import Name, Spec


class PersonalMatrix(Spec):
    """key: the column that tells people apart. categories: of each of the step's attributes; they fix the matrix."""

    key: Name
    categories: tuple[tuple[str, ...], ...]

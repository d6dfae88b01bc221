"""Tables of very many columns take minutes: it is said before the work begins, so that nobody takes it for a standstill."""

from __future__ import annotations

import sys

MANY_COLUMNS = 300
SECONDS_A_COLUMN = 0.02  # of reading and checking one, on one core of 2020; attacks come on top of that


def tell_many_columns(columns: int) -> None:
    """Say on stderr how long a table of many columns takes, roughly; nothing of others."""
    if columns > MANY_COLUMNS:
        minutes = max(1, round(columns * SECONDS_A_COLUMN / 60))
        told = f"about {minutes} minute{'s' * (minutes > 1)}, or several times as long on a busy machine"
        then = "Masks and attacks take longer still. Wait, or publish fewer columns."
        sys.stderr.write(f"{columns:,} columns: reading and checking them takes {told}. {then}\n")
        sys.stderr.flush()

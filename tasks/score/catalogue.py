"""All measures by name, read from their declarations in `tasks/score/measures`, a file a family.

`linkage`: every figure of an attack that links, values and insiders' figures too. `membership`: who is in the file.
`inference`: values that are inferred. `singling_out`: people whom a released row describes alone.
`disclosure`: what a table shows without an attack. `local_privacy`: epsilon. `model`: accuracy. `loss`: what analysts lose,
propensity ratios too. `function` of a measure leads to its formula.

Light to import, so that a release file can be checked against it before anything is computed.
"""

from __future__ import annotations

from tasks.score.measure import list_measures
from tasks.score.measures import disclosure, inference, linkage, local_privacy, loss, membership, model, singling_out

LINKAGE, DISCLOSURE, LOSS = list_measures(linkage), list_measures(disclosure), list_measures(loss)
FAMILIES = (
    LINKAGE,
    list_measures(membership),
    list_measures(inference),
    list_measures(singling_out),
    list_measures(model),
    DISCLOSURE,
    list_measures(local_privacy),
    LOSS,
)
MEASURES = {measure.name: measure for family in FAMILIES for measure in family}

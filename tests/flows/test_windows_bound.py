"""An attack of somebody who has a bound on the windows of rank swapping, from the command line."""

from __future__ import annotations

import pytest

SWAP = {"method": "rank_swapping", "attributes": ["age", "income", "town"], "window_percent": 10}
ATTACKS = [{"method": "distance_linkage"}, {"method": "transparency"}, {"method": "consistency"}]
POLICY = [{"measure": "reidentification", "at_most": 1.0}]


@pytest.mark.slow
def test_a_bound_stands_beside_the_known_windows_or_is_refused(certify):
    less = {"method": "transparency", "id": "less", "window_at_most": 30}
    change = {"masking": [SWAP], "policy": POLICY, "not_for_publication": True}
    ran, manifest = certify({**change, "attacks": [*ATTACKS, less]})
    assert ran.code == 0, ran.err
    assert "attack less (declared)" in manifest["stages"]
    ran, _ = certify({**change, "attacks": [*ATTACKS, {**less, "window_at_most": 5}]})
    assert ran.code == 2
    assert "attacks[3].window_at_most" in ran.err

"""The paper's verbal claims of Section 4, each counted over its own cells and over ours."""

from __future__ import annotations

from . import claims_distances, claims_ranks

__all__ = ["CLAIMS"]


CLAIMS = (*claims_distances.CLAIMS, *claims_ranks.CLAIMS)

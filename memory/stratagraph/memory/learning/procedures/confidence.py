"""How far a procedure is to be trusted, given how often it succeeded. No I/O."""

from __future__ import annotations

import math

PRIOR_SUCCESSES, PRIOR_FAILURES = 2.0, 1.0  # so that two successes make 0.8, the confidence of a new skill
_Z = 1.959964  # of the normal distribution, for 95 %


def confidence_of(successes: int, failures: int) -> float:
    """Return the expected share of successes: the mean of the Beta posterior of a binomial share.

    (successes + 2) / (successes + failures + 3), by the prior Beta(2, 1). See Gelman et al., "Bayesian Data Analysis",
    3rd edition, section 2.4.

    >>> confidence_of(2, 0), confidence_of(2, 2), round(confidence_of(20, 0), 3)
    (0.8, 0.5714285714285714, 0.957)
    """
    return (successes + PRIOR_SUCCESSES) / (successes + failures + PRIOR_SUCCESSES + PRIOR_FAILURES)


def wilson_interval(successes: int, tried: int) -> tuple[float, float]:
    """Return the 95 % interval of a binomial share; (0, 1) if nothing was tried.

    Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    >>> [round(end, 3) for end in wilson_interval(24, 43)]
    [0.411, 0.696]
    """
    if not tried:
        return 0.0, 1.0
    share, z2 = successes / tried, _Z * _Z
    centre = (share + z2 / (2 * tried)) / (1 + z2 / tried)
    half = _Z / (1 + z2 / tried) * math.sqrt(share * (1 - share) / tried + z2 / (4 * tried * tried))
    return max(0.0, centre - half), min(1.0, centre + half)

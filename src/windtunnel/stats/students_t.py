"""Student's t distribution, and Gauss's, which is the one with infinitely many degrees of freedom.

scipy.special has the same functions as scipy.stats, in a quarter of the time of its import, which is part of each command that compares. It is
imported by the first call: whoever needs only a constant of a module that calls this waits for nothing.
"""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray


def quantile(chance: float, freedom: float) -> float:
    """The value below which the variable lies with this chance."""
    from scipy.special import ndtri, stdtrit

    return float(ndtri(chance) if freedom == inf else stdtrit(freedom, chance))


def chance_above(value: float, freedom: float) -> float:
    """The chance that the variable lies above a value."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(-value) if freedom == inf else stdtr(freedom, -value))


def distance_found(critical: float, freedom: float, power: float) -> float:
    """How many standard errors the mean must lie from 0 for t to be above `critical` with a chance of `power`: the noncentrality of
    the noncentral t distribution, to within 1e-5 of itself."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, 1 - power, critical))


def normal_below(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """For each value, the chance that a standard normal variable lies below it."""
    from scipy.special import ndtr

    return np.asarray(ndtr(values), float)

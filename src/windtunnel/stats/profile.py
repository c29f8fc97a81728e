"""The interval of one parameter of a fit by its profile: the values with which the best fit is not told from the best of all.

The least squares of a fit with one parameter held, over those of the best fit, follow an F distribution with one degree of freedom, if the noise
is Gauss's (D. M. Bates and D. G. Watts, "Nonlinear Regression Analysis and Its Applications", 1988, 6.1). Unlike a standard error, it says when
the data do not bound the parameter.
"""

import numpy as np
from numpy.typing import NDArray

from windtunnel.stats.mean import SHOWN
from windtunnel.stats.students_t import quantile

Floats = NDArray[np.float64]


def profile_interval(values: Floats, squares: Floats, freedom: int, level: float = SHOWN) -> tuple[float, float | None]:
    """`values` of the parameter, ascending, the best one among them, and the squared errors of the best fit with each. `freedom`: values that
    were fitted, less all parameters. None: the last value is among those that are not told from the best, and nothing bounds the parameter
    from above."""
    # the square of Student's t has the F distribution with one degree of freedom
    most = 1 + quantile((1 + level) / 2, freedom) ** 2 / freedom
    kept = values[squares <= squares.min() * most]
    return float(kept[0]), None if kept[-1] == values[-1] else float(kept[-1])

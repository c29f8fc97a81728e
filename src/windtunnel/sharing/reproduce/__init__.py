"""PvCC's figures on few cores: each tests claims of the paper with measurements of this host."""

from windtunnel.sharing.reproduce.claims import Claim, Verdict
from windtunnel.sharing.reproduce.figure import FIGURES, Figure, figure_named

__all__ = ["FIGURES", "Claim", "Figure", "Verdict", "figure_named"]

"""The seed's figures on few cores: each tests claims of PvCC, and says from the data whether they hold here."""

from windtunnel.sharing.reproduce.claims import Claim, Verdict
from windtunnel.sharing.reproduce.figure import FIGURES, Figure, figure_named

__all__ = ["FIGURES", "Claim", "Figure", "Verdict", "figure_named"]

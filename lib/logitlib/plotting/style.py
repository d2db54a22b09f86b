"""One figure style: dark ink on a transparent ground, which the site's dark theme turns round."""

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib_inline.backend_inline import set_matplotlib_formats

INK = "#1b1e23"
#: Colours that keep a contrast of at least 3 : 1 on white and, inverted, on the dark ground.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#1f5fa8", "#b3500f", "#2a7a4b", "#7b3fa0", "#6b7280"


def use_style() -> None:
    """Set Matplotlib up for the book: SVG, transparent, the same bytes from run to run."""
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, PURPLE, GREY]),
            "legend.frameon": False,
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "svg.hashsalt": "logitlib",
        }
    )
    set_matplotlib_formats("svg", metadata={"Date": None})

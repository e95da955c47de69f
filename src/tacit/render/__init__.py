"""Tables and charts as text, HTML, SVG and Vega-Lite; nothing here depends on privacy."""

from tacit.render.charts import bars, chart
from tacit.render.table import (
    Plain,
    ShownColumn,
    cell,
    fields,
    grid_of,
    html,
    safe,
    spell,
    text,
)

__all__ = [
    "Plain",
    "ShownColumn",
    "bars",
    "cell",
    "chart",
    "fields",
    "grid_of",
    "html",
    "safe",
    "spell",
    "text",
]

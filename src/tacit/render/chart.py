"""Columns as a Vega-Lite chart: bars, with a rule for the range around each."""

from collections.abc import Sequence
from typing import Any

from tacit.render.cell import cell, safe
from tacit.render.column import Column

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


def chart(labels: Sequence[Column], measure: Column) -> dict[str, Any]:
    """One bar for each row, called by the ``labels`` beside it.

    The fields have names of their own, since Vega-Lite reads dots and brackets in a name as a
    path; what the columns are called is only written.
    """
    ranges = measure.intervals or (None,) * len(measure.values)
    rows = [
        {
            "label": " · ".join(cell(column.values[place]) for column in labels),
            "value": None if value is None else float(value),
            "low": None if around is None else float(around[0]),
            "high": None if around is None else float(around[1]),
        }
        for place, (value, around) in enumerate(zip(measure.values, ranges, strict=True))
    ]
    title = " · ".join(safe(column.name) for column in labels)
    x = {"field": "label", "type": "nominal", "sort": None, "title": title}
    y = {"field": "value", "type": "quantitative", "title": safe(measure.name)}
    ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    return {
        "$schema": SCHEMA,
        "data": {"values": rows},
        "encoding": {"x": x},
        "layer": [
            {"mark": {"type": "bar", "opacity": 0.6}, "encoding": {"y": y}},
            {"mark": "rule", "encoding": ends},
        ],
    }

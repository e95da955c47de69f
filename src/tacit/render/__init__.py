"""Plain columns to text, HTML and Vega-Lite; knows nothing of privacy."""

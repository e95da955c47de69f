"""Bounded questions as SQL, printed from the plan; the analyst's text never comes here."""

"""Surveys whose collector never sees a true answer."""

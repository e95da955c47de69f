"""The routes of the server: those for questions and models, and those for owners and others."""

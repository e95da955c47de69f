"""The nouns of Tacit: frozen values with no behaviour beyond their own algebra."""

"""The same door as session, over HTTP."""

"""The migrations. A migration that was released is never changed."""

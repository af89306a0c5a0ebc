"""The admin calls: topics, their settings, log folders, and what one broker without users can say of the rest."""

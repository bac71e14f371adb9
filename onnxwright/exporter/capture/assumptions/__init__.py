"""What a captured program assumes about sizes: guards, decisions, sizes that became numbers."""

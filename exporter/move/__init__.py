"""Moving a blog into its new home: each record made there once, known again there, and never over a person's work."""

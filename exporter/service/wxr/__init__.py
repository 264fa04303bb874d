"""Export files of WordPress (WXR)."""

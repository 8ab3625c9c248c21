"""A headless Chromium for the checks of the built book."""

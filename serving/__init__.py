"""Serve pushed models over TensorFlow Serving's API; needs TensorFlow, not TFX."""

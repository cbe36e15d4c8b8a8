"""TensorFlow Serving in production: the files that run it, made from what was pushed."""

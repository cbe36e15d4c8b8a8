"""TFX components: one folder each, named as TFX names them."""

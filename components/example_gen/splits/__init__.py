"""Deal rows to train, eval and test, and check what each of them got."""

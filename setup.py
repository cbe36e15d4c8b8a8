"""Kept for Beam's --setup_file, which ships the code to remote workers; metadata lives in pyproject.toml."""

from setuptools import setup

setup()

"""Run the graph on this machine: a scheduler, and each step in a process of its own."""

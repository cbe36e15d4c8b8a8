"""What the command's exit code says."""

DONE = 0
FAILED = 1  # a step failed
USER_ERROR = 2  # the config, the data or the command line is at fault
NOT_BLESSED = 3  # finished, but the gate or the InfraValidator said no

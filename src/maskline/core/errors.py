"""The one exception that a user is meant to read."""


class UserError(Exception):
    """A fault in what the user gave: one line that names the thing and the way out.

    The command line prints it without a traceback and exits with code 1.
    """

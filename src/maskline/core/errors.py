"""The exception for errors of the user."""


class UserError(Exception):
    """An error in the user's input: one line that says what is wrong and what to do.

    The command line prints it without a traceback and exits with code 1.
    """

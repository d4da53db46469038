"""The arguments of a template."""

import re
from typing import NamedTuple

_TOKEN = re.compile(r"\[\[|\]\]|\|")
NAMED = re.compile(r"\s*([\w \-]{1,40}?)\s*=(.*)", re.DOTALL)


class Arguments(NamedTuple):
    """The arguments of a template, without the spaces around them."""

    positional: list[str]
    named: dict[str, str]
    """Name, without case -> value."""

    def at(self, number: int) -> str:
        """Return the positional argument `number`, counted from 1; "" if there is none."""
        return self.named.get(str(number)) or (self.positional[number - 1] if number <= len(self.positional) else "")

    def given(self, name: str) -> str | None:
        """Return the argument of the parameter `name`, which may be a number; None if there is none."""
        if name in self.named:
            return self.named[name]
        if name.isdecimal() and 0 < len(name) < 4 and 0 < int(name) <= len(self.positional):
            return self.positional[int(name) - 1]
        return self.named.get(name.casefold())

    def first_of(self, names: tuple[str, ...]) -> str:
        """Return the first of the named arguments `names` that is not empty; "" if there is none."""
        return next(filter(None, map(self.named.get, names)), "")

    def texts(self) -> list[str]:
        """Return the positional arguments that are not empty."""
        numbered = [self.at(number) for number in range(1, 10)]
        return list(filter(None, (*numbered, *self.positional[9:])))

    @property
    def characters(self) -> int:
        """How long all of them are together."""
        return sum(map(len, self.positional)) + sum(map(len, self.named.values()))


def split_arguments(content: str | None) -> Arguments:
    """Return the arguments in the text after the name of a template; a bar inside a link does not separate them."""
    arguments = Arguments([], {})
    if content is None:
        return arguments
    for part in split(content) if "[[" in content else content.split("|"):
        add(arguments, part)
    return arguments


def add(arguments: Arguments, part: str) -> None:
    """Add an argument as it stands between two bars."""
    if "=" in part and (named := NAMED.fullmatch(part)):
        arguments.named[named[1].casefold()] = named[2].strip()
    else:
        arguments.positional.append(part.strip())


def split(content: str) -> list[str]:
    """Return the parts of `content` between bars that are not inside a link."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(content):
        if token[0] != "|":
            depth = max(0, depth + (1 if token[0] == "[[" else -1))
        elif not depth:
            parts.append(content[start : token.start()])
            start = token.end()
    return [*parts, content[start:]]

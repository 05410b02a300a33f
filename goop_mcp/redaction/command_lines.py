"""Passwords in options of command lines: `mysql -p…`, `curl -u user:…`.

A command is read once, from its program to its end, so the time is linear for every text.
"""

import re
from collections.abc import Iterator
from typing import Final

from goop_mcp.redaction.on_use import on_use
from goop_mcp.redaction.searched import SearchedText
from goop_mcp.redaction.values import is_stand_in

__all__ = ["find_in_commands", "may_hold_commands"]

_BARE: Final = r"[^\s\"'`<>;|&]{1,256}"
_VALUE: Final = rf"(?P<quote>[\"'])?(?P<value>(?(quote)[^\"'\r\n]{{1,256}}|{_BARE}))"
_USER_AND: Final = (
    rf"(?P<quote>[\"'])?[^\s\"':]{{0,128}}:(?P<value>(?(quote)[^\"'\r\n]{{1,256}}|{_BARE}))"
)

# Between an option and its value, also in a JSON list.
_BETWEEN: Final = r"(?:[\"'],)?[ \t=]{0,8}"
# The options of each program; they follow white space or a quote.
_OPTIONS: Final = {
    "mysql": rf"-p{_VALUE}",
    "mariadb": rf"-p{_VALUE}",
    "7z": rf"-p{_VALUE}",
    "curl": rf"(?:-u|--user|-U|--proxy-user){_BETWEEN}{_USER_AND}",
    "http": rf"(?:-a|--auth){_BETWEEN}{_USER_AND}",
    "https": rf"(?:-a|--auth){_BETWEEN}{_USER_AND}",
    "sshpass": rf"-p[ \t]{{0,8}}{_VALUE}",
    "mongo": rf"-p[ \t]{{1,8}}{_VALUE}",
    "cqlsh": rf"-p[ \t]{{1,8}}{_VALUE}",
    "docker login": rf"-p[ \t]{{0,8}}{_VALUE}",
    "podman login": rf"-p[ \t]{{0,8}}{_VALUE}",
    "helm registry login": rf"-p[ \t]{{1,8}}{_VALUE}",
    "rabbitmqadmin": rf"-p[ \t]{{1,8}}{_VALUE}",
    "redis-cli": rf"-a[ \t]{{1,8}}{_VALUE}",
    "ldap": rf"-w[ \t]{{1,8}}{_VALUE}",
    "zip": rf"-P[ \t]{{0,8}}{_VALUE}",
    "unzip": rf"-P[ \t]{{0,8}}{_VALUE}",
    "sqlcmd": rf"-P[ \t]{{0,8}}{_VALUE}",
    "mosquitto_pub": rf"-P[ \t]{{1,8}}{_VALUE}",
    "mosquitto_sub": rf"-P[ \t]{{1,8}}{_VALUE}",
    "smbclient": rf"(?:-U|--user)[ \t=]{{0,8}}[\"']?[^\s%\"']{{1,128}}%{_VALUE}",
    "openssl": rf"-pass(?:in|out)?[ \t]{{1,8}}pass:{_VALUE}",
    "htpasswd": (
        r"-[a-zA-Z]{0,8}b[a-zA-Z]{0,8}[ \t]{1,8}\S{1,256}[ \t]{1,8}\S{1,128}["
        rf" \t]{{1,8}}{_VALUE}"
    ),
}
# An option follows white space or a quote, which not many texts have before a dash.
_DASHES: Final = (" -", "\n-", '"-', "'-", "\t-", "\r-", "\v-", "\f-")

# `mysqldump` and `ldapsearch` have the options of `mysql` and `ldap`.
_PROGRAM: Final = on_use(
    rf"(?<![\w.-])(?P<program>{'|'.join(sorted(_OPTIONS, key=len, reverse=True))})[a-z-]{{0,12}}"
    r"(?=[\s\"'])"
)
# `docker run --name mysql -p3306:3306`
_PORTS: Final = on_use(r"(?:[0-9.]{1,15}:)?[0-9-]{1,11}:[0-9-]{1,11}(?:/[a-z]{1,4})?")
# The end of a command, unless it is continued on the next line.
_END: Final = on_use(r"(?<!\\)\r?\n|\s(?:;|\|\|?|&&?)\s")


def may_hold_commands(searched: SearchedText) -> bool:
    """Return whether a text may hold such a command."""
    lowered = searched.lowered
    return any(dash in lowered for dash in _DASHES) and any(
        program in lowered for program in _OPTIONS
    )


def find_in_commands(searched: SearchedText) -> Iterator[tuple[int, int]]:
    """Yield the passwords in commands."""
    text, at = searched.text, 0
    while program := _PROGRAM().search(text, at):
        end = _END().search(text, program.end())
        at = end.start() if end is not None else len(text)
        # Compiled once for each program, as `re` caches patterns.
        option = re.compile(rf"(?<=[\s\"']){_OPTIONS[program['program']]}")

        for found in option.finditer(text, program.end(), at):
            if not is_stand_in(found["value"]) and not _PORTS().fullmatch(found["value"]):
                yield found.span("value")

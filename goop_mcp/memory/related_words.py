"""Words of software projects that stand for each other in questions and in notes.

A note says "credentials rotate", a question asks for "passwords": neither has a word of the other.
The words of a group are not synonyms; they only make one of two memories more likely.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

__all__ = ["related_words"]

_ENDINGS: Final = ("ing", "es", "ed", "s")
_SHORTEST_STEM: Final = 3

_GROUPS: Final = """
accessibility a11y wcag contrast
add create insert make new
aggregate sum count statistic
allow permit accept
amount price money currency cost
analytics metric tracking event
anonymous pseudonym gdpr privacy
api endpoint route interface
archive retention keep history
async concurrent parallel background
auth authentication authorization login signin credential password
avoid forbid never ban
backup copy snapshot restore
batch bulk chunk
bill invoice payment charge purchase
branch fork merge
broker queue message event stream kafka
browser page frontend ui interface
build compile bundle package
cache cached redis memoize
certificate tls ssl encryption
change update modify edit alter
character encoding unicode utf charset
checkout basket cart order purchase
checksum hash digest
choose decide pick select
cloud aws gcp azure
cluster node replica instance host machine server
command cli shell terminal
comment note annotation
compress gzip shrink size
config configuration setting option parameter environment variable
connection socket network
consistent transaction atomic
container docker image pod kubernetes
cookie session login
cost bill expense budget
cpu processor load
crash error exception failure bug defect
cron schedule job nightly midnight
customer user client account person
dashboard chart graph
database db sql postgres table
date time timestamp timezone utc clock
debug diagnose troubleshoot
decimal float rounding
default fallback
delete remove drop erase purge
dependency library package module
deploy deployment release ship rollout publish
deprecated legacy old obsolete
developer laptop local development
dictionary map lookup table
disk storage volume space
dns domain hostname
document pdf file
documentation docs readme manual
download export dump
duplicate twice idempotent repeated
email mail message newsletter notification
encrypt encryption cipher
expire expiry ttl lifetime deadline timeout
feature flag toggle switch
fetch load read get
flaky unstable intermittent unreliable
format layout structure shape
garbage collection cleanup housekeeping
gateway proxy balancer ingress
github gitlab repository repo
greeting welcome onboarding
icon logo image picture photo thumbnail
identifier id key uuid
import ingest upload
incident outage pager oncall escalation
index search lookup find query
infrastructure terraform provisioning
install setup bootstrap
internal private
interpreter language runtime version
invalid wrong bad malformed
isolate sandbox
json serialize encode
language locale translation i18n
latency slow performance speed fast
leak memory ram heap
limit maximum cap quota threshold
lint style formatter convention
list array sequence collection
lock mutex deadlock race conflict
log logging trace
migration schema ddl upgrade
mobile phone app ios android
monitor monitoring alert observability
name naming rename
order sort sequence
owner responsible team maintainer
pagination page cursor offset
parse parser read
partition shard split
permission role access right
pipeline ci workflow
pool connection
port adapter interface
production live
rate throttle limit quota
reason why because
recover restore resume
refactor restructure rewrite
retry attempt again repeat resend
review approval pull merge
rollback revert undo
scale scaling autoscale grow
secret token key credential vault
security vulnerability attack
sign signature verify
staging sandbox preproduction
start boot launch
status state
stop shutdown terminate kill
test spec check verify
thread process worker task
tool utility
type typing typed mypy typescript
validate validation check verify
webhook callback hook
"""


def related_words(words: Iterable[str]) -> list[str]:
    """Return the words that belong to one of `words`, without these, in a fixed order."""
    given = [word.lower() for word in words]
    found = dict.fromkeys(
        other for word in given for form in _forms(word) for other in _groups().get(form, ())
    )
    return [word for word in found if word not in given]


def _forms(word: str) -> list[str]:
    """Return `word` and what may be its stem."""
    stems = [
        word[: -len(ending)]
        for ending in _ENDINGS
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM
    ]
    return [word, *stems]


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Return the words that share a group with each word."""
    others: dict[str, dict[str, None]] = {}
    for line in _GROUPS.split("\n"):
        group = line.split()
        for word in group:
            others.setdefault(word, {}).update(
                dict.fromkeys(each for each in group if each != word)
            )

    return {word: tuple(group) for word, group in others.items()}

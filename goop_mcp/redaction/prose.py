"""Values that say something about a secret, and are none: `password: required`, `token: rotation`.

Reports, commit messages and labels are full of them, in the languages that people work in. A word
of which these lists know nothing may be a password.
"""

from typing import Final

from goop_mcp.redaction.on_use import on_use

__all__ = ["is_label", "is_statement"]

# That a secret is needed, what became of it, what is wrong with it; parts and properties of it; in
# other languages only those that no ending gives away.
_STATES: Final = (
    "absent bad blank broken changed cleartext copied correct current default different empty"
    " encrypted expired failed fake forgotten found good hashed hidden hint incorrect input invalid"
    " known leaked long lost mandatory masked mismatch missing needed new no none not off ok old on"
    " optional own passed pending plain plaintext present private public random ready required"
    " reset revoked rotated same safe set short shown skipped static strict strong temporary unique"
    " unknown unset unused used valid visible weak wrong yes"
    " age change check checks classes count entropy expiry field fields form forms hash hashes"
    " history label length lifetime limit limits login logout manager meter name names page pages"
    " policy policies prompt quality recovery refresh reuse rule rules salt scope scopes screen"
    " scheme size store strength support type types update use user users vault"
    " abgelaufen alt falsch fehlt fehlerhaft geheim gesetzt kein keine leer neu nötig pflichtfeld"
    " richtig vergessen vergeben verloren aucun faux requis vide perdu incorrecte falta nuevo"
    " ninguno vacío nuovo nessuno errato richiesto scaduto smarrito nenhum novo vazio"
    # Halves of words with a hyphen: read-only, two-step, built-in.
    " built factor in lived multi one only read single step two up well write"
)
_WORDS: Final = frozenset(_STATES.split())
_ENDINGS: Final = on_use(
    # English; German; French, Spanish, Italian and Portuguese.
    r"\w{2,}(?:ed|ing|[st]ions?|ments?|[ai]ble|ness|ity|less|ly|[ae]nce)"
    r"|\w{2,}(?:lich|bar|isch|ung|ungen|[hk]eit|iert|ändert|öscht|setzt|tauscht|neuert|ötigt)"
    r"|\w+(?:ültig|ötig)|\w{2,}(?:é|ée|és|ées|[ao]ire|ad[oa]|id[oa]|[oó]ri[oa]|[aiu]t[oa])"
)
_SHORTEST: Final = 6
_METHODS: Final = on_use(
    r"[bs]crypt|argon2(?:i?d|i)?|pbkdf2|sha-?(?:[1-3]|224|256|384|512)|md5|hmac|aes(?:-?\d{3})?|rsa"
    r"|ed25519|base64|bearer|basic|oauth2?|oidc|saml|jwt|totp|uuid"
)
_LABELS: Final = (
    "password passwords passwort passwörter passphrase kennwort kennwörter contraseña contraseñas"
    " parola senha passe wachtwoord hasło пароль пароля 密码 密碼 パスワード"
)
_NAMES: Final = frozenset(_LABELS.split())
_PUNCTUATION: Final = " \t.,:;!?…()*_"
_PARTS: Final = on_use(r"[\s/,&+]+|-(?=[^\W\d])")
_LETTERS: Final = on_use(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_MOST_WORDS: Final = 12


def is_statement(value: str, *, by_ending: bool) -> bool:
    """Return whether `value` is one or a few words that say something about a secret.

    `by_ending`: whether a word such as `rotated` counts by its ending alone.
    """
    words = _PARTS().split(value.strip(_PUNCTUATION))
    return len(words) <= _MOST_WORDS and all(
        _METHODS().fullmatch(word.lower()) or _is_word(word, by_ending=by_ending) for word in words
    )


def _is_word(word: str, *, by_ending: bool) -> bool:
    # Words are in one case, apart from their first letter; a password may be in any.
    if not (word.isupper() or word[1:].islower()):
        return False
    lowered = word.lower()
    return lowered in _WORDS or (
        by_ending and len(word) >= _SHORTEST and _ENDINGS().fullmatch(lowered) is not None
    )


def is_label(value: str) -> bool:
    """Return whether `value` is the word for a password, or a sentence with it: `Your password`."""
    words = [word.strip(_PUNCTUATION) for word in _PARTS().split(value.lower().strip())]
    return (
        len(words) <= _MOST_WORDS
        and not _NAMES.isdisjoint(words)
        and all(not word or _LETTERS().fullmatch(word) for word in words)
    )

"""What secrets look like in the wild, and what only looks like one.

The values are made when the tests run, so that no scanner takes this file for a leak; none was ever
valid.
"""

import random
import re
import string
from typing import Final
from uuid import UUID

__all__ = ["LOOK_ALIKES", "SECRETS"]

_SLOT: Final = re.compile(r"\{(uuid|hex|word|run|b64|upper|lower|digit|letter)(?::(\d+))?\}")
_HEX: Final = "0123456789abcdef"
_WORD: Final = string.ascii_letters + string.digits
_RUN: Final = _WORD + "-_"
_BASE64: Final = _WORD + "+/"
_UPPER: Final = string.ascii_uppercase + string.digits
_LOWER: Final = string.ascii_lowercase + string.digits


class _Made:
    """Makes values: `{run:40}` in a template is 40 characters of letters, digits, - and _."""

    ALPHABETS: Final = {
        "hex": _HEX,
        "word": _WORD,
        "run": _RUN,
        "b64": _BASE64,
        "upper": _UPPER,
        "lower": _LOWER,
        "digit": string.digits,
        "letter": string.ascii_letters,
    }

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def fill(self, template: str) -> str:
        """Return `template` with its slots filled; other braces stay."""
        return _SLOT.sub(self._value, template)

    def _value(self, slot: re.Match[str]) -> str:
        name, length = slot.groups()
        if name == "uuid":
            return str(UUID(int=self._random.getrandbits(128), version=4))

        alphabet = self.ALPHABETS[name]
        # A letter and a digit first: values without one of them exist and are rare.
        most = int(length) - 2
        sure = ["a" if "a" in alphabet else alphabet[-1], "7" if "7" in alphabet else alphabet[0]]
        rest = [self._random.choice(alphabet.replace("-", "")) for _ in range(most)]

        return "".join([*sure, *rest])


# Kind and text; the secret stands between « and », and two dots in it part what a scanner might
# take for a token.
_TEMPLATES: Final = r"""
1Password secret key | kit: «A3-..{upper:6}-{upper:11}-{upper:5}-{upper:5}-{upper:5}»
1Password service account | OP=«ops_..eyJ{b64:260}»
Adafruit | ADAFRUIT_IO_KEY=«{lower:32}»
Adobe client secret | adobe: «p8e-..{lower:32}»
age | «AGE-SECRET..-KEY-1{upper:58}»
Airtable key | airtable_api =«{lower:17}»
Airtable token | airtable «pat..{word:14}.{hex:64}»
Algolia | ALGOLIA_ADMIN: "«{lower:32}»"
Alibaba key id | id «LTAI..{word:20}»
Alibaba secret | alibaba_cloud =«{lower:30}»
Anthropic | key «sk-ant..-api03-{run:93}AA»
Anthropic admin | key «sk-ant..-admin01-{run:93}AA»
Artifactory key | X-JFrog-Art-Api «AKCp..{word:69}»
Artifactory reference | ref «cmVmd..{word:59}»
Asana client secret | asana_client =«{lower:32}»
Atlassian | user «ATATT3..{run:186}»
Jira | JIRA_AUTH=«{lower:20}{hex:4}»
Authress | key: «auth..ress_{lower:10}.{lower:5}.acc_{lower:20}.{b64:40}»
AWS access key | found «AKIA..{upper:16}»
AWS session key | found «ASIA..{upper:16}»
AWS secret key | aws_secret_access_key =«{b64:40}»
Bedrock key | «ABSK..{b64:120}»
Bedrock short key | «bedrock-api-key-..YmVkcm9jay5hbWF6b25hd3MuY29t{b64:40}»
Azure AD client secret | value: «{word:3}8Q..~{word:34}»
Azure storage | AccountName=x;AccountKey=«{b64:86}==»;EndpointSuffix=core
Azure SAS | https://x.blob.core.windows.net/c?sv=2022-11-02&se=2026-01-01&sig=«{word:40}%2B%3D»
Azure Service Bus | Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=«{b64:43}=»
Beamer | beamer_api=«b_..{lower:44}»
Bitbucket client secret | BITBUCKET_OAUTH=«{run:64}»
Bitbucket app password | app «ATBB..{word:32}»
Bittrex | bittrex_access =«{lower:32}»
ClickHouse | «4b1d..{word:38}»
Clojars | «CLOJARS_..{lower:60}»
Cloudflare key | CLOUDFLARE_GLOBAL=«{hex:37}»
Cloudflare token | cloudflare_worker: «{run:40}»
Cloudflare origin CA | «v1.0-..{hex:24}-{hex:146}»
Codecov | CODECOV_UPLOAD=«{lower:32}»
Cohere | cohere = "«{word:40}»"
Coinbase | coinbase_access=«{lower:64}»
Confluent | CONFLUENT_CLOUD=«{word:64}»
Contentful | contentful_delivery=«{run:43}»
Databricks | «dapi..{hex:32}»
Datadog | DATADOG_APP=«{lower:40}»
Defined Networking | «dnkey-..{lower:26}-{lower:52}»
DigitalOcean | «dop_v1_..{hex:64}»
DigitalOcean OAuth | «doo_v1_..{hex:64}»
DigitalOcean refresh | «dor_v1_..{hex:64}»
Discord bot | login «M..{word:23}.{word:6}.{word:38}»
Discord hook | https://discord.com/api/webhooks/«123456789012345678/..{run:68}»
Discord client secret | discord_client: «{lower:32}»
Docker Hub | «dckr_pat_..{run:27}»
docker config | "auths": {"x": {"auth": "«{b64:40}»"}}
Doppler | «dp.pt...{word:43}»
Drone | DRONECI_RPC=«{lower:32}»
Dropbox short | DROPBOX: «{lower:15}»
Dropbox long | dropbox «sl...{run:135}»
Duffel | «duffel_..live_{lower:43}»
Dynatrace | «dt0c01...{upper:24}.{upper:64}»
EasyPost | «EZAK..{word:54}»
EasyPost test | «EZTK..{word:54}»
Etsy | etsy_keystring =«{lower:24}»
Facebook app | «123456789012345|..{word:27}»
Facebook page | «EAAM..{word:120}»
Fastly | FASTLY_API=«{run:32}»
Figma | «figd_..{run:43}»
Finicity | finicity_api =«{hex:32}»
Finnhub | finnhub =«{lower:20}»
Flickr | flickr_api: «{lower:32}»
Flutterwave | «FLWSECK_TEST-..{hex:32}-X»
Fly.io | «fo1_..{run:43}»
Fly.io macaroon | «fm2_..{b64:120}»
Frame.io | «fio-u-..{run:64}»
FreshBooks | freshbooks_access=«{lower:64}»
Google API | «AIza..{run:35}»
Google OAuth secret | «GOCSPX-..{run:28}»
Google OAuth token | «ya29...{run:60}»
GitHub | «ghp_..{word:36}»
GitHub app | «ghs_..{word:36}»
GitHub OAuth | «gho_..{word:36}»
GitHub refresh | «ghr_..{word:36}»
GitHub fine-grained | «github_pat_..{word:22}_{word:59}»
GitLab | «glpat-..{run:20}»
GitLab routable | «glpat-..{run:27}.01.{lower:9}»
GitLab runner | «glrt-..{run:20}»
GitLab registration | «GR1348941..{run:20}»
GitLab deploy | «gldt-..{run:20}»
GitLab feature flags | «glffct-..{run:20}»
GitLab cookie | Cookie: _gitlab_session=«{hex:32}»
Gitter | gitter_access=«{run:40}»
GoCardless | gocardless_access=«live_..{run:40}»
Grafana service | «glsa_..{word:32}_{hex:8}»
Grafana cloud | «glc_..{b64:60}»
Harness | «pat...{run:22}.{word:24}.{word:20}»
Terraform Cloud | «{word:14}.atlas..v1.{run:64}»
Vault service | «hvs...{run:95}»
Vault batch | «hvb...{run:140}»
Vault old | vault login «s...{word:24}»
Heroku | HEROKU_API=«{uuid}»
Heroku v2 | «HRKU-..AA{run:58}»
HubSpot | hubspot_api: «{uuid}»
Hugging Face | «hf_..{letter:34}»
Infracost | «ico-..{word:32}»
Intercom | intercom_access=«{run:60}»
JFrog | jfrog_identity=«{lower:64}»
JWT | «eyJhbGciOiJIUzI1NiJ9...eyJ{word:40}.{run:43}»
JWT in base64 | «ZXlK..aGJHY2lPaU{word:80}»
Kraken | kraken_private=«{b64:86}»
KuCoin | kucoin_api =«{hex:24}»
LaunchDarkly | launchdarkly_sdk=«{run:40}»
Linear | «lin_api_..{word:40}»
LinkedIn | linkedin_client =«{lower:16}»
Lob | lob_api=«live_..{hex:35}»
Looker | looker_client: «{lower:24}»
Mailchimp | «{hex:32}-us..12»
Mailgun | mailgun «key-..{hex:32}»
Mailgun signing | mailgun_signing=«{hex:32}-{hex:8}-{hex:8}»
Mapbox | «sk...{lower:60}.{lower:22}»
Mattermost | mattermost_access=«{lower:26}»
MaxMind | «{word:6}_{word:29}_m..mk»
MessageBird | messagebird: «{lower:25}»
Meraki | MERAKI_DASHBOARD=«{hex:40}»
Teams hook | https://x.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/«{hex:32}/{uuid}»
Netlify | NETLIFY_AUTH=«{run:43}»
New Relic user | «NRAK-..{upper:27}»
New Relic insert | «NRII-..{run:32}»
Notion | «ntn_..{digit:11}{word:35}»
npm | «npm_..{word:36}»
npmrc | //registry.example/:_auth=«{b64:40}»
NuGet | <add key="ClearTextPassword" value="«{word:12}»" />
Octopus | «API-..{upper:26}»
Okta | okta_api=«00..{run:40}»
OpenAI | «sk-..{word:20}T3BlbkFJ{word:20}»
OpenAI project | «sk-proj-..{run:74}T3BlbkFJ{run:74}»
OpenShift | «sha256~..{run:43}»
Perplexity | «pplx-..{word:48}»
Plaid | plaid «access-production-..{uuid}»
PlanetScale | «pscale_tkn_..{run:43}»
PlanetScale password | «pscale_pw_..{run:43}»
Postman | «PMAK-..{hex:24}-{hex:34}»
Prefect | «pnu_..{word:36}»
Pulumi | «pul-..{hex:40}»
PyPI | «pypi-..AgEIcHlwaS5vcmc{run:80}»
RapidAPI | rapidapi: «{run:50}»
ReadMe | «rdme_..{lower:70}»
RubyGems | «rubygems_..{hex:48}»
Scalingo | «tk-us-..{run:48}»
SendGrid | «SG...{run:22}.{run:43}»
Brevo | «xkeysib-..{hex:64}-{word:16}»
Sentry org | «sntrys_..eyJpYXQiO{b64:60}LCJyZWdpb25fdXJs{b64:30}_{b64:43}»
Sentry user | «sntryu_..{hex:64}»
SettleMint | «sm_pat_..{word:16}»
Shippo | «shippo_live_..{hex:40}»
Shopify | «shpat_..{hex:32}»
Sidekiq | BUNDLE_GEMS__CONTRIBSYS__COM=«{hex:8}:{hex:8}»
Slack bot | «xoxb-..{digit:12}-{digit:12}-{word:24}»
Slack app | «xapp-..1-A0{upper:9}-{digit:12}-{hex:64}»
Slack refresh | «xoxe-..1-{upper:146}»
Slack hook | https://hooks.slack.com/services/«T0{upper:8}/B0{upper:8}/{word:24}»
Slack workflow | https://hooks.slack.com/workflows/«T0{upper:8}/A0{upper:8}/{digit:18}/{word:24}»
Snyk | SNYK_CFG=«{uuid}»
Sonar | sonar.login=«squ_..{hex:40}»
Sourcegraph | «sgp_..{hex:16}_{hex:40}»
Square | «sq0atp-..{run:22}»
Squarespace | squarespace_api: «{uuid}»
Stripe | «sk_live_..{word:24}»
Stripe restricted | «rk_test_..{word:24}»
Stripe hook | «whsec_..{word:32}»
Sumo Logic | sumo_access=«{lower:64}»
Tailscale auth | «tskey-auth-..k{word:11}CNTRL-{word:32}»
Tailscale API | «tskey-api-..k{word:11}CNTRL-{word:32}»
Telegram | https://api.telegram.org/bot«{digit:10}:A..A{run:33}»/getMe
Travis | TRAVIS_CI=«{word:22}»
Twilio | «SK..{hex:32}»
Twitch | twitch_client=«{lower:30}»
Twitter bearer | twitter: «AAAAAAAAAAAAAAAAAAAAAA..{word:90}»
Twitter access | twitter_access =«{digit:18}-{word:30}»
Typeform | «tfp_..{run:59}»
Yandex key | «AQVN..{run:38}»
Yandex token | «t1...{run:12}.{run:86}»
Zendesk | zendesk_oauth=«{lower:40}»
netrc | machine api.example login joe password «{word:12}»
netrc over lines | machine x\n  login joe\n  password «{word:12}»\n
netrc default | default login joe password «{word:12}»
netrc in another order | machine x password «{word:12}» login joe
TOTP | otpauth://totp/x?secret=«{upper:16}»
token after a weak name | auth: https://x.example/login?token=«{word:20}»
curl in a list | ["curl", "-u", "joe:«{word:12}»"]
subscription | Ocp-Apim-Subscription-Key: «{hex:32}»
mysql | mysql -h db -u root -p«{word:12}» shop
mysql in quotes | mysqldump --single-transaction -p'«{word:12}»' shop > x.sql
mariadb | mariadb -uroot -p«{word:12}»
curl | curl -u joe:«{word:12}» https://x/
curl in quotes | curl -sS --user 'joe:«{word:12}»' https://x/?a=1&b=2
curl over lines | curl https://x/?a=1&b=2 \\n  -u joe:«{word:12}»
curl key | curl -H 'X-Api-Key: «{word:32}»' https://x/
curl cookie | curl -b 'sid=«{word:32}»' https://x/
sshpass | sshpass -p«{word:12}» ssh x
redis | redis-cli -h x -a «{word:12}» ping
docker | docker login -u joe -p «{word:12}» x
openssl | openssl rsa -passin pass:«{word:12}» -in x
psql | PGPASSWORD=«{word:12}» psql -h x
cookie | Cookie: theme=dark; sessionid=«{lower:32}»; lang=de
set-cookie | Set-Cookie: auth=«{word:40}»; Path=/; HttpOnly
Express cookie | connect.sid=«s%3A{word:32}.{word:43}»
PHP cookie | PHPSESSID=«{lower:26}»
Django cookie | sessionid=«{lower:32}»
Java cookie | GET /; JSESSIONID=«{upper:32}»
AWS presigned | https://x.s3.amazonaws.com/a?X-Amz-Date=1&X-Amz-Signature=«{hex:64}»
Kubernetes secret | kind: Secret\nmetadata:\n  name: x\ndata:\n  config: «{b64:30}»\n
DB_PASS | DB_PASS=«{word:10}»
nodemailer | auth: {user: 'joe', pass: '«{word:12}»'}
basic | Authorization: Basic «{b64:24}»
URL | amqp://«joe:{word:12}»@mq:5672
"""

# Ordinary lines; nothing of them is a secret.
_LOOK_ALIKES: Final = r"""
PWD=/srv/shop/backend
OLDPWD=/tmp
export PWD=/var/lib/x && make
"PWD": "/opt/build"
pwd: C:\Users\joe
commit {hex:40}
Merge {hex:7} into main
index {hex:7}..{hex:7} 100644
git checkout {hex:40} -- src/app.py
HEAD is now at {hex:7} fix the tests
"integrity": "sha512-{b64:86}=="
"integrity": "sha1-{b64:27}="
integrity sha512-{b64:86}==
"resolved": "https://registry.example/lodash/-/lodash-4.17.21.tgz#{hex:40}"
    --hash=sha256:{hex:64} \
checksum = "{hex:64}"
github.com/pkg/errors v0.9.1 h1:{b64:43}=
source = "registry+https://github.com/rust-lang/crates.io-index"
FROM python:3.12@sha256:{hex:64}
sha256:{hex:64}
md5sum {hex:32}  dist/app.tar.gz
ETag: "{hex:32}"
If-None-Match: W/"{hex:40}"
session_id: {uuid}
"session_id": "{uuid}"
"sessionId": "{uuid}"
request id {uuid} took 12 ms
id={uuid}&page=2
trace_id={hex:32} span_id={hex:16}
traceparent: 00-{hex:32}-{hex:16}-01
X-Request-Id: {uuid}
build_id: {hex:40}
cache-key: v1-deps-{hex:64}
key: ${{ runner.os }}-pip-${{ hashFiles('**/requirements.txt') }}
restore-keys: linux-node-
image: registry.example/app@sha256:{hex:64}
DATADOG_GIT_COMMIT_SHA={hex:40}
SENTRY_RELEASE={hex:40}
HEROKU_SLUG_COMMIT={hex:40}
sentry: 2.19.2
cloudflare_zone_id = {hex:32}
NETLIFY_SITE_ID={uuid}
codecov/patch: 85.71% of diff hit
See https://docs.datadoghq.com/agent/troubleshooting/site_configuration/
npm install --save-dev @sentry/webpack-plugin@2.22.7
linear-gradient(45deg, #aabbcc 25%, transparent 25%)
travis: .travis.yml is replaced by a workflow
<img src="data:image/png;base64,iVBORw0KGgo{b64:200}">
url(data:font/woff2;base64,d09GMgABAAAAA{b64:120})
background: url("data:image/svg+xml;base64,{b64:80}")
//# sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=
password: required
password: string, at least 12 characters
| password | required | the password of the user |
The password is required. A token is issued after the login.
"password": {"type": "string", "minLength": 12}
password = request.form["password"]
password=password, token=token, secret=secret
const token = await getToken(user)
token: Token = Depends(current_token)
api_key: str | None = None
API_KEY=${API_KEY:?set it}
SECRET_KEY = os.environ["SECRET_KEY"]
secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>
client_secret: !vault |
token: ${{ secrets.GITHUB_TOKEN }}
GITHUB_TOKEN: ${{ github.token }}
password: "********"
password: xxxxxxxx
api_key = "your-api-key"
api_key: "<your api key>"
token=%s, user=%s
max_tokens: 4096
"tokens": {"prompt": 1200, "completion": 300}
next token: IDENT at line 3
tokenizer: porter unicode61
keyboard: de-latin1
primary_key: id
foreign_key="user.id"
key: value
"key": "users.profile.title2"
<div key="item-17" class="sk-fading-circle-container sk-child">
public_key: {b64:64}
ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519
author: Joe Smith <joe@example.org>
authors = ["Joe Smith <joe@example.org>"]
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
curl -H "Authorization: Bearer ${TOKEN}" https://x/
curl -u "$USER:$PASSWORD" https://x/
curl -u user:password https://x/
curl -u joe https://x/
curl -sS https://x/a:b -o out.json
mysql -u root -p
mysql -u root -p shop < dump.sql
mysql -h db -P 3306 -u root --protocol=tcp
mysqldump -p$MYSQL_ROOT_PASSWORD shop
mkdir -p src/app && cp -p a b
docker run -p 8080:80 nginx
docker run --name mysql -p3306:3306 -d mysql
docker run --name mariadb -p127.0.0.1:3306:3306/tcp mariadb
docker login -u joe --password-stdin
ssh -p 2222 joe@host
redis-cli -h localhost -p 6379 ping
openssl rsa -passin env:KEY_PASSWORD -in key.pem
machine learning needs a login and a password policy
machine api.example login joe password <password>
the default login form asks for name and password
Set-Cookie: theme=dark; Path=/; Max-Age=3600; SameSite=Lax
Cookie: lang=de; theme=dark
Cookies are set by the server; a cookie is a small text.
git checkout -b feature=better-names-for-all-things
postgresql://localhost:5432/shop
postgresql://joe@db1/shop
http://localhost:3000/callback?code=abc&state=xyz
https://example.org/a?sig=short
https://github.com/joe/app/compare/{hex:40}...{hex:40}
git@github.com:joe/app.git
def test_the_17_things_are_equal_when_they_should_be_equal_to_each_other():
s.getElementsByClassNames(container)
sk-estimator-html-representation-fallback
npm_config_registry and npm_package_version
hf_hub_download(repo_id="x", filename="y")
AKIA is how the id of an access key begins
eyJ is how a token begins
PASS: tests/test_login.py::test_wrong_password
pass: 12, fail: 0
the text claims that all tests pass: "All 14 tests pass"
12 passed, 1 failed, 3 skipped
"pass": true, "fail": false
bypass=true, compass: north
pypi-publish-to-the-test-index
pk.user.id, pk.order.id
v1.0-rc1 (2026-01-15)
SKU-2024-0001 and SKU-2024-0002
API-REFERENCE.md and API-2-0
00000000-0000-0000-0000-000000000000
0x{hex:40}
bitcoin:1{word:33}
arn:aws:iam::123456789012:role/deploy
kind: ConfigMap\ndata:\n  config: {b64:30}
kind: Secret\nmetadata:\n  name: shop
"access": "public", "auth": "none", "credentials": "include"
fetch(url, {credentials: "same-origin"})
"description": "The secret of the client, at least 32 characters"
"""


# What people write about secrets: lists of features, states, commit messages, labels, headings.
_PROSE: Final = """
login page, password policy
- login page, password policy
1. login page, password policy
* [x] login page, password policy, session timeout
default login page, password policy
Default: login page, password policy, session timeout
Added the default login page, password policy and token refresh.
The machine login page, password policy and token refresh are done.
machine account page, password reset
the default login page password policy
default account settings, password strength meter, login history
Features: login page, password policy, token rotation, secret store
Scope: login, password reset, API keys, audit log
W2.T3 login page, W2.T4 password policy
| Login page | password policy | done |
login page; password policy; token refresh
login page: password policy
password policy: minimum length
password policy: strict
password reset: by mail
password reset: enabled
password strength: medium
password hashing: argon2
password field: masked
password input: hidden
Password: required.
password: optional
password: mandatory
password: forgotten
password: changed
password: rotated
password: hashed
password: validated
password: encrypted
password: masked
password: hidden
password: visible/hidden
password: missing
password: too short
password: mismatch
password: reset
password: strength
password: policy
password: unchanged
password: stored hashed, never logged
password: bcrypt
Password: bcrypt
password: Argon2id
password: argon2
password: scrypt
password: sha256
password: SHA-512
password: plaintext
password: not shown
password: wrong
password: incorrect
password: invalid
password: accepted
password: rejected
password: verified
password: generated
password: unset
Password: (hidden)
**Password:** required
**Token:** expired
- **Password**: changed
password -> hash
password → bcrypt
token → rotated
| password | hashed |
| password | required |
| token | rotation |
| secret | rotated |
| API key | documented |
token: expired
Token: expired.
token: revoked
token: rotation
token: refreshed
token: missing
token: valid
token: bearer
TOKEN: rotation
TOKEN: rotated
token refresh: implemented
token rotation: done
token lifetime: 15 minutes
tokens: rotated
tokens: none
secret: rotated
secret: unused
SECRET: unused
SECRET: rotated
secret: redacted
secrets: none
Secrets: removed
secret store: Vault
secret scanning: enabled
API key: rotated
api key: documented
API keys: revoked
api_key: deprecated
access key: rotated
auth: added
auth: implemented
authentication: OAuth2
credentials: removed
credentials: none needed
PASSWORD: hashed
PASSWORD: required.
PASSWORD: REQUIRED
PASSWORDS: none
# Password: requirements
## Token: lifetime
### Secrets: handling
<password>required</password>
<password>hidden</password>
<secret>rotated</secret>
<token>expired</token>
"password": "required"
"password": "Password"
"password": "Passwort"
"password": "Kennwort"
"password": "Mot de passe"
"password": "Contraseña"
"password": "Your password"
"password": "Enter your password"
"passwordLabel": "Choose a password"
"password_hint": "At least twelve characters"
"password": "The password of the user"
"password": "A password is required"
"forgot_password": "Forgot your password?"
"wrong_password": "Wrong password"
"token": "expired"
"secret": "rotated"
password: 'required'
password=required
password=hashed
password=changed
token=expired
token=missing
secret=rotated
Passwort: erforderlich
Passwort: geändert
Passwort: vergessen
Passwort: abgelaufen
Kennwort: optional
password: erforderlich
password: geändert
password: vergessen
password: zurückgesetzt
password: Pflichtfeld
token: abgelaufen
token: ungültig
token: erneuert
secret: ersetzt
Mot de passe : obligatoire
password: obligatoire
password: requis
password: modifié
password: oublié
token: expiré
token: révoqué
password: requerido
password: olvidado
token: caducado
password: richiesto
password: obrigatório
feat(auth): password reset
fix(auth): token refresh
fix: password check
test: wrong password
docs: API keys
wrong password: 401
expired token: 403
missing token: 401
password length: 12
password length = 12
password_min_length: 12
password_policy: strict
password_reset: enabled
token_type: bearer
token_endpoint: /oauth/token
token_ttl: 900
secret_name: db-main
key_name: db-main
key rotation: yearly
api_key_header: X-Api-Key
The password: at least twelve characters
The password is required.
The token is expired.
the secret is rotated
my password was wrong
password was changed
the password is hashed
Tests: wrong password, expired token, missing secret
Tested with an expired token, a wrong password, and no credentials.
Checks: password=required, token=expired
login, logout, password change, password reset
Login form: user, password, remember me
Fields: user, password, token
Done: password policy
Next: password policy
Blocked: password unknown
Open: token rotation, key rotation
decision: passwords are hashed with argon2id
memory: "Password policy" saved
Nobody has the password
Who knows the password?
Ask the admin for the password
The password is not in the repository.
Password: Visible/Hidden
password: read-only
password: user-defined
password: built-in
- Password: forgotten
secret: well-known
token: single-use
token: short-lived
password: gültig
password: nötig
password: two-step
"""


def _secrets() -> dict[str, tuple[str, str]]:
    """Return of each kind a text and the secret in it."""
    made = _Made(4711)
    found = {}

    for line in _TEMPLATES.strip().splitlines():
        kind, _, template = line.partition(" | ")
        before, _, rest = template.replace("\\n", "\n").partition("«")
        secret, _, after = rest.partition("»")
        value = made.fill(secret.replace("..", "", 1))
        found[kind] = (made.fill(before) + value + made.fill(after), value)

    return found


def _look_alikes() -> tuple[str, ...]:
    made = _Made(1174)
    lines = [*_LOOK_ALIKES.strip().splitlines(), *_PROSE.strip().splitlines()]
    return tuple(made.fill(line).replace("\\n", "\n") for line in lines)


SECRETS: Final = _secrets()
LOOK_ALIKES: Final = _look_alikes()

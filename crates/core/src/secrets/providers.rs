//! The shapes in which the most used providers document their keys, each in a text; recall is measured on them.
//!
//! `{a20}` stands for twenty random letters and digits, see [`alphabet`]; the secret stands between `«` and `»`. No
//! shape is a secret by itself.

use super::fakes::{HEX, LETTERS, MIXED};

/// Random numbers below a bound, the same at each run.
pub(crate) fn drawn(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |bound| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    }
}

/// Fills a shape in: returns the text, and the secret in it.
pub(crate) fn filled(shape: &str, mut random: impl FnMut(usize) -> usize) -> (String, String) {
    let (mut text, mut secret) = (String::new(), String::new());
    let mut is_secret = false;
    let mut rest = shape;
    while let Some(char) = rest.chars().next() {
        let mut piece = char.to_string();
        let mut length = char.len_utf8();
        match char {
            '«' | '»' => {
                is_secret = char == '«';
                piece.clear();
            }
            '{' => {
                if let Some((letters, count)) = filler(rest) {
                    let letters: Vec<char> = letters.chars().collect();
                    piece = (0..count).map(|_| letters[random(letters.len())]).collect();
                    length = rest.find('}').unwrap() + 1;
                }
            }
            _ => {}
        }
        text.push_str(&piece);
        if is_secret {
            secret.push_str(&piece);
        }
        rest = &rest[length..];
    }
    (text, secret)
}

fn filler(shape: &str) -> Option<(String, usize)> {
    let (inside, _) = shape.strip_prefix('{')?.split_once('}')?;
    let kind = inside.chars().next()?;
    Some((alphabet(kind)?, inside.get(1..)?.parse().ok()?))
}

fn alphabet(kind: char) -> Option<String> {
    const DIGITS: &str = "0123456789";
    const BASE58: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    Some(match kind {
        'a' => MIXED.to_owned(),
        'h' => HEX.to_owned(),
        'H' => HEX.to_uppercase(),
        'd' => DIGITS.to_owned(),
        'u' => format!("{}{DIGITS}", &LETTERS[..26]),
        'l' => format!("{}{DIGITS}", &LETTERS[26..]),
        'A' => LETTERS.to_owned(),
        'b' => format!("{MIXED}+/"),
        'w' => format!("{MIXED}_-"),
        '5' => BASE58.to_owned(),
        '_' => " ".to_owned(),
        _ => return None,
    })
}

/// A provider and one of its shapes.
pub(crate) const SHAPES: &[(&str, &str)] = &[
    ("AWS", "AWS_ACCESS_KEY_ID=«AKIA{u16}»"),
    ("AWS", "«ASIA{u16}»"),
    ("AWS", "AWS_SECRET_ACCESS_KEY=«{b40}»"),
    ("AWS", "[default]\naws_secret_access_key = «{b40}»\nregion = eu-central-1"),
    ("AWS", "\"SecretAccessKey\": \"«{b40}»\","),
    ("AWS", "aws_session_token = «IQoJb3JpZ2luX2Vj{b200}»"),
    ("AWS Bedrock", "AWS_BEARER_TOKEN_BEDROCK=«ABSK{b110}=»"),
    ("AWS Cognito", "\"RefreshToken\": \"«eyJ{a40}.{w340}.{w16}.{w400}.{w22}»\""),
    (
        "Google Cloud",
        "\"private_key_id\": \"{h40}\", \"private_key\": \"«-----BEGIN PRIVATE{_1}KEY-----\\nMIIEv{b60}\\n{b64}\\n{b64}\\n-----END PRIVATE{_1}KEY-----»\\n\"",
    ),
    ("Google Cloud", "https://maps.googleapis.com/maps/api/js?key=«AIza{w35}»&callback=initMap"),
    ("Google OAuth", "\"client_secret\":\"«GOCSPX-{w28}»\""),
    ("Google OAuth", "Bearer «ya29.a0A{w150}»"),
    ("Google OAuth", "refresh_token: 1//«0{w100}»"),
    (
        "Azure",
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=«{b86}==»;EndpointSuffix=core.windows.net",
    ),
    ("Azure", "https://shop.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig=«{a43}%3D»"),
    ("Azure", "AZURE_CLIENT_SECRET=«{a3}8Q~{w34}»"),
    ("Azure OpenAI", "AZURE_OPENAI_API_KEY=«{h32}»"),
    (
        "Azure Service Bus",
        "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{b43}=»",
    ),
    ("Azure DevOps", "https://build:«{l52}»@dev.azure.com/shop/_git/web"),
    (
        "Azure Cosmos DB",
        "AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey=«{b86}==»;",
    ),
    ("GitHub", "«ghp_{a36}»"),
    ("GitHub", "git clone https://x-access-token:«ghs_{a36}»@github.com/a/b.git"),
    ("GitHub", "«github_pat_{a22}_{a59}»"),
    ("GitLab", "PRIVATE-TOKEN: «glpat-{w20}»"),
    ("GitLab", "CI_JOB_TOKEN=«glcbt-64_{w20}»"),
    ("GitLab", "«gldt-{w20}»"),
    ("GitLab", "«glimt-{w25}»"),
    ("GitLab", "«glagent-{w50}»"),
    ("GitLab", "«gloas-{h64}»"),
    ("Bitbucket", "https://x-token-auth:«ATCTT3xFfGN0{w160}={h8}»@bitbucket.org/a/b.git"),
    ("Bitbucket", "BITBUCKET_APP_PASSWORD=«ATBB{a32}»"),
    ("Slack", "«xoxb-{d12}-{d13}-{a24}»"),
    ("Slack", "SLACK_SIGNING_SECRET=«{h32}»"),
    ("Slack", "https://hooks.slack.com/services/«T{u8}/B{u8}/{a24}»"),
    ("Stripe", "«sk_live_{a99}»"),
    ("Stripe", "stripe listen > Your webhook signing secret is «whsec_{h64}»"),
    ("OpenAI", "OPENAI_API_KEY=«sk-proj-{w74}T3BlbkFJ{w74}»"),
    ("OpenAI", "openai.api_key = \"«sk-{a20}T3BlbkFJ{a20}»\""),
    ("Anthropic", "«sk-ant-api03-{w93}AA»"),
    ("OpenRouter", "«sk-or-v1-{h64}»"),
    ("Mistral", "MISTRAL_API_KEY=«{a32}»"),
    ("Cohere", "CO_API_KEY=«{a40}»"),
    ("Groq", "«gsk_{a52}»"),
    ("xAI", "«xai-{a80}»"),
    ("Perplexity", "«pplx-{a48}»"),
    ("Hugging Face", "«hf_{A34}»"),
    ("Replicate", "«r8_{a37}»"),
    ("Together", "TOGETHER_API_KEY=«{h64}»"),
    ("Fireworks", "«fw_{a24}»"),
    ("DeepSeek", "DEEPSEEK_API_KEY=«sk-{h32}»"),
    ("ElevenLabs", "xi-api-key: «sk_{h48}»"),
    ("Stability", "STABILITY_API_KEY=«sk-{a48}»"),
    ("Pinecone", "«pcsk_{a5}_{a63}»"),
    ("LangSmith", "«lsv2_pt_{h32}_{h10}»"),
    ("Weights & Biases", "WANDB_API_KEY=«{h40}»"),
    ("NVIDIA", "«nvapi-{w64}»"),
    ("Tavily", "«tvly-{a32}»"),
    ("npm", "//registry.npmjs.org/:_authToken=«npm_{a36}»"),
    ("npm", "//npm.example.test/:_auth=«ZGVwbG95Omh1bnRlcjItaHVudGVyMg==»"),
    ("PyPI", "«pypi-AgEIcHlwaS5vcmc{w120}»"),
    ("crates.io", "«cio{a32}»"),
    ("RubyGems", "«rubygems_{h48}»"),
    ("NuGet", "dotnet nuget push a.nupkg --api-key «oy2{l43}»"),
    ("Packagist", "«packagist_uat_{h68}»"),
    ("Clojars", "«CLOJARS_{h60}»"),
    ("Docker", "«dckr_pat_{w27}»"),
    (
        "Docker",
        "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"«bWU6aHVudGVyMmh1bnRlcjI=»\"}}}",
    ),
    ("Quay", "docker login -u=\"a+robot\" -p=\"«{u64}»\" quay.io"),
    ("Artifactory", "«AKCp8{a68}»"),
    ("Heroku", "HEROKU_API_KEY=«HRKU-{w60}»"),
    ("Heroku", "HEROKU_API_KEY=«{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("DigitalOcean", "«dop_v1_{h64}»"),
    ("Linode", "LINODE_TOKEN=«{h64}»"),
    ("Hetzner", "HCLOUD_TOKEN=«{a64}»"),
    ("Vultr", "VULTR_API_KEY=«{u36}»"),
    ("Scaleway", "SCW_SECRET_KEY=«{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("OVH", "application_secret=«{a32}»"),
    ("Cloudflare", "CLOUDFLARE_API_TOKEN=«{w40}»"),
    ("Cloudflare", "X-Auth-Key: «{h37}»"),
    ("Cloudflare", "«v1.0-{h24}-{h146}»"),
    ("Fastly", "Fastly-Key: «{w32}»"),
    ("Vercel", "VERCEL_TOKEN=«{a24}»"),
    ("Netlify", "«nfp_{a36}»"),
    ("Fly.io", "«fm2_{b200}»"),
    ("Fly.io", "FLY_API_TOKEN=«FlyV1 fm2_{b200}»"),
    ("Railway", "RAILWAY_TOKEN=«{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("Render", "«rnd_{a28}»"),
    ("Supabase", "«sbp_{h40}»"),
    ("Supabase", "«sb_secret_{w22}_{a8}»"),
    ("Supabase", "SUPABASE_SERVICE_ROLE_KEY=«eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{a80}.{w43}»"),
    ("Firebase", "FCM server «AAAA{w7}:APA91b{w134}»"),
    ("PlanetScale", "«pscale_pw_{w43}»"),
    ("PlanetScale", "«pscale_tkn_{w43}»"),
    ("Neon", "postgresql://neondb_owner:«npg_{a12}»@ep-a.eu-central-1.aws.neon.tech/neondb"),
    ("Neon", "«napi_{l64}»"),
    ("MongoDB Atlas", "mongodb+srv://app:«{a16}»@cluster0.abcde.mongodb.net/shop"),
    ("Redis", "rediss://default:«{a32}»@eu1-a.upstash.io:6379"),
    ("Upstash", "UPSTASH_REDIS_REST_TOKEN=\"«A{a60}==»\""),
    ("Turso", "TURSO_AUTH_TOKEN=«eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJ{a90}.{w86}»"),
    ("Elastic", "Authorization: ApiKey «{b58}==»"),
    ("Algolia", "X-Algolia-API-Key: «{h32}»"),
    ("Confluent", "sasl.password=«{b64}»"),
    ("Databricks", "«dapi{h32}»"),
    ("Databricks", "«dapi{h32}-2»"),
    ("Snowflake", "SNOWFLAKE_PASSWORD=«{a14}»"),
    ("Twilio", "TWILIO_AUTH_TOKEN=«{h32}»"),
    ("Twilio", "«SK{h32}»"),
    ("SendGrid", "«SG.{w22}.{w43}»"),
    ("Mailgun", "curl -s --user 'api:«key-{h32}»' https://api.mailgun.net/v3"),
    ("Mailgun", "MAILGUN_API_KEY=«{h32}-{h8}-{h8}»"),
    ("Mailchimp", "«{h32}-us14»"),
    ("Postmark", "X-Postmark-Server-Token: «{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("Resend", "«re_{a8}_{a24}»"),
    ("Brevo", "«xkeysib-{h64}-{a16}»"),
    ("Telegram", "«{d9}:AA{w33}»"),
    ("Discord", "«MTE{a23}.G{a5}.{w38}»"),
    ("Discord", "https://discord.com/api/webhooks/{d19}/«{w68}»"),
    (
        "Microsoft Teams",
        "https://shop.webhook.office.com/webhookb2/«{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}»",
    ),
    ("Facebook", "«EAA{a180}»"),
    ("Instagram", "«IGQVJ{w160}»"),
    ("Twitter", "«AAAAAAAAAAAAAAAAAAAAA{a60}%3D{a50}»"),
    ("Twitter", "TWITTER_ACCESS_TOKEN_SECRET=«{a45}»"),
    ("LinkedIn", "LINKEDIN_CLIENT_SECRET=«WPL_AP1.{a16}.{a6}==»"),
    ("Twitch", "«oauth:{l30}»"),
    ("Spotify", "SPOTIFY_CLIENT_SECRET=«{h32}»"),
    ("Dropbox", "«sl.B{w140}»"),
    ("Box", "BOX_CLIENT_SECRET=«{a32}»"),
    ("Shopify", "X-Shopify-Access-Token: «shpat_{h32}»"),
    ("Square", "«EAAA{w60}»"),
    ("Square", "«sq0csp-{w43}»"),
    ("PayPal", "access_token$production${l16}$«{h32}»"),
    ("PayPal", "PAYPAL_CLIENT_SECRET=«E{w79}»"),
    ("Adyen", "«AQE{a4}hmfxK{b70}-{b43}=-{a16}»"),
    ("Razorpay", "RAZORPAY_KEY_SECRET=«{a24}»"),
    ("Mollie", "«live_{a30}»"),
    ("Plaid", "PLAID_SECRET=«{h30}»"),
    ("Coinbase", "COINBASE_API_SECRET=«{a32}»"),
    ("Binance", "BINANCE_API_SECRET=«{a64}»"),
    ("Bitcoin", "«5J{549}»"),
    ("Atlassian", "«ATATT3xFfGF0{w170}={H8}»"),
    ("Jira", "curl -u me@example.test:«{a24}» https://shop.atlassian.net/rest/api/3/myself"),
    ("Linear", "«lin_api_{a40}»"),
    ("Notion", "«ntn_{a46}»"),
    ("Notion", "«secret_{a43}»"),
    ("Airtable", "«pat{a14}.{h64}»"),
    ("Asana", "«1/{d16}:{h32}»"),
    ("Figma", "«figd_{w40}»"),
    ("Typeform", "«tfp_{a40}_{a14}»"),
    ("HubSpot", "«pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("Salesforce", "«00D{a12}!{a8}.{w86}»"),
    ("Zendesk", "me@example.test/token:«{a40}»"),
    ("Intercom", "INTERCOM_TOKEN=«dG9r{a56}=»"),
    ("Datadog", "DD_API_KEY=«{h32}»"),
    ("Datadog", "DD-APPLICATION-KEY: «{h40}»"),
    ("New Relic", "«NRAK-{u27}»"),
    ("New Relic", "NEW_RELIC_LICENSE_KEY=«{h36}NRAL»"),
    ("Sentry", "«sntrys_eyJ{a100}_{b43}»"),
    ("Sentry", "https://{h32}:«{h32}»@sentry.io/42"),
    ("Grafana", "«glsa_{a32}_{h8}»"),
    ("Grafana", "«glc_eyJ{b120}»"),
    ("Honeycomb", "X-Honeycomb-Team: «hcaik_01{l56}»"),
    ("Dynatrace", "«dt0c01.{u24}.{u64}»"),
    ("PagerDuty", "Authorization: Token token=«{w20}»"),
    ("Splunk", "Authorization: Splunk «{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("SonarQube", "«sqp_{h40}»"),
    ("Snyk", "SNYK_TOKEN=«{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("CircleCI", "«CCIPAT_{a22}_{h40}»"),
    ("CircleCI", "Circle-Token: «{h40}»"),
    ("Buildkite", "«bkua_{h40}»"),
    ("Travis", "travis login --github-token «ghp_{a36}»"),
    ("Jenkins", "curl -u admin:«11{h32}» https://ci.example.test/job/a/build"),
    ("Terraform", "«{a14}.atlasv1.{w67}»"),
    ("Pulumi", "«pul-{h40}»"),
    ("Vault", "VAULT_TOKEN=«hvs.{w90}»"),
    ("Doppler", "«dp.pt.{a43}»"),
    ("1Password", "«ops_eyJ{b250}»"),
    ("1Password", "«A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}»"),
    ("Bitwarden", "BW_CLIENTSECRET=«{a30}»"),
    ("Okta", "Authorization: SSWS «00{w40}»"),
    ("Auth0", "\"client_secret\": \"«{w64}»\""),
    ("Clerk", "«sk_test_{a42}»"),
    ("Kubernetes", "    token: «eyJhbGciOiJSUzI1NiIsImtpZCI6I{a20}.eyJ{a200}.{w342}»"),
    ("Tailscale", "«tskey-auth-k{a16}CNTRL-{a32}»"),
    ("ngrok", "ngrok config add-authtoken «2{a26}_{a21}»"),
    ("Mapbox", "«sk.eyJ{a60}.{w22}»"),
    ("OpenWeather", "https://api.openweathermap.org/data/2.5/weather?q=Bonn&appid=«{h32}»"),
    ("Contentful", "«CFPAT-{w43}»"),
    ("Sanity", "SANITY_API_TOKEN=«sk{a178}»"),
    ("Prefect", "«pnu_{a36}»"),
    ("Postman", "«PMAK-{h24}-{h34}»"),
    ("RapidAPI", "X-RapidAPI-Key: «{h10}msh{h15}p1{h6}jsn{h12}»"),
    ("LaunchDarkly", "«sdk-{h8}-{h4}-{h4}-{h4}-{h12}»"),
    ("PostHog", "«phx_{a43}»"),
    ("Segment", "SEGMENT_WRITE_KEY=«{a32}»"),
    ("Amplitude", "AMPLITUDE_SECRET_KEY=«{h32}»"),
    ("ReadMe", "«rdme_{l70}»"),
    ("Duffel", "«duffel_live_{w43}»"),
    ("EasyPost", "«EZAK{a54}»"),
    ("Shippo", "«shippo_live_{h40}»"),
    ("Flutterwave", "«FLWSECK-{h32}-X»"),
    ("Frame.io", "«fio-u-{w64}»"),
    ("Cursor", "«key_{h64}»"),
    ("Jina", "«jina_{a59}»"),
    ("RunPod", "«rpa_{u40}»"),
    ("Firecrawl", "«fc-{h32}»"),
    ("Cerebras", "«csk-{l48}»"),
    ("Together", "«tgp_v1_{w43}»"),
    ("Apify", "«apify_api_{a36}»"),
    ("E2B", "«e2b_{h40}»"),
    ("Sourcegraph", "«sgp_{h16}_{h40}»"),
    ("Alibaba", "«LTAI{a20}»"),
    ("Tencent", "«AKID{a32}»"),
    ("Yandex", "«y0_{w58}»"),
    ("OpenShift", "«sha256~{w43}»"),
    ("Docker Swarm", "docker swarm join --token «SWMTKN-1-{l50}-{l25}» 10.0.0.1:2377"),
    ("Bitcoin", "«xprv{5107}»"),
    ("Fernet", "«gAAAAA{w100}==»"),
    ("PostgreSQL", "db.example.test:5432:shop:app:«{a12}»"),
    ("MySQL", "mysql -u root -p«{a12}» shop"),
    ("SSH", "sshpass -p «{a12}» ssh me@example.test"),
    ("Redis", "redis-cli -h cache.example.test -a «{a20}» ping"),
    ("LDAP", "ldapsearch -x -D cn=admin -w «{a12}» -b dc=example"),
    ("Zip", "unzip -P «{a12}» a.zip"),
    ("7-Zip", "7z x -p«{a12}» a.7z"),
    ("SQL Server", "sqlcmd -S db.example.test -U sa -P «{a12}» -Q 'select 1'"),
    ("MongoDB", "mongosh -u app -p «{a12}» shop"),
    ("Samba", "smbclient //files/a -U me%«{a12}»"),
    ("FTP", "lftp -u me,«{a12}» ftp.example.test"),
    ("Remote desktop", "xfreerdp /u:me /p:«{a12}» /v:host"),
    ("Apache", "htpasswd -b .htpasswd me «{a12}»"),
    ("OpenSSL", "openssl rsa -in a.pem -passin pass:«{a12}»"),
    ("sudo", "echo «{a12}» | sudo -S apt update"),
    ("Linux", "echo 'me:«{a12}»' | sudo chpasswd"),
    ("Cookie", "Cookie: theme=dark; session=«{a40}»"),
    ("Cookie", "Set-Cookie: sid=«{a40}»; Path=/; HttpOnly"),
    ("Ansible", "ansible_become_pass: «{a12}»"),
    ("PHP", "define('DB_PASSWORD', '«{a12}»');"),
    ("YAML", "password:\n  «{a14}»"),
    ("Kubernetes", "- name: API_KEY\n  value: \"«{a32}»\""),
    ("Maven", "<password>«{a14}»</password>"),
    (".NET", "<add key=\"ApiKey\" value=\"«{a32}»\" />"),
    ("JSON", "{\\\"apiKey\\\":\\\"«{a32}»\\\"}"),
    ("age", "«AGE-SECRET-KEY-1{u58}»"),
];

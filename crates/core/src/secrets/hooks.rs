//! Addresses of which a part is the credential: whoever has it may start a build or post a message.

use super::form::Form;
use super::judge::{has_digit, is_value};

pub(super) const URLS: Form = Form {
    name: "key in a URL",
    signs: &[
        "api.netlify.com/build_hooks/",
        "/integrations/deploy/",
        "api.render.com/deploy/",
        "/deploy_hooks/",
        "hooks.zapier.com/hooks/",
        "/with/key/",
        "maker.ifttt.com/use/",
        "/hook/",
        "webhook/send?key=",
        ".make.com/",
        "hc-ping.com/",
        "uptimerobot.com/",
        "/api/v1/heartbeat/",
        "events.pagerduty.com/integration/",
        "victorops.com/integrations/",
        "sumologic.com/receiver/",
        "loggly.com/",
        "/genericWebhook/",
        "outlook.office.com/webhook/",
        ".quiknode.pro/",
        "calendar/ical/",
    ],
    pattern: concat!(
        r"(?:api\.netlify\.com/build_hooks/",
        r"|api\.vercel\.com/v1/integrations/deploy/prj_[A-Za-z0-9]+/",
        r"|api\.render\.com/deploy/srv-[a-z0-9]+\?key=",
        r"|api\.cloudflare\.com/client/v4/pages/webhooks/deploy_hooks/",
        r"|hooks\.zapier\.com/hooks/(?:catch|standard)/[0-9]+/",
        r"|maker\.ifttt\.com/trigger/[^/\s]{1,60}/(?:json/)?with/key/|maker\.ifttt\.com/use/",
        r"|/open-apis/bot/v2/hook/|/cgi-bin/webhook/send\?key=",
        r"|hook\.(?:[a-z0-9]+\.)?make\.com/",
        r"|hc-ping\.com/|heartbeat\.uptimerobot\.com/|better(?:uptime|stack)\.com/api/v1/heartbeat/",
        r"|events\.pagerduty\.com/integration/",
        r"|alert\.victorops\.com/integrations/generic/[0-9]+/alert/",
        r"|sumologic\.com/receiver/v1/http/",
        r"|loggly\.com/(?:inputs|bulk)/",
        r"|hooks\.airtable\.com/workflows/v1/genericWebhook/[A-Za-z0-9]+/[A-Za-z0-9]+/",
        r"|outlook\.office\.com/webhook/",
        r"|\.quiknode\.pro/",
        r"|calendar/ical/[^/\s]{1,120}/private-)",
        r"(?P<s>[A-Za-z0-9_\-]{6,10}(?:[/?]|[^A-Za-z0-9_\-/.?=&]|$)|[A-Za-z0-9_\-@]{10,}(?:/[A-Za-z0-9_\-]{16,})*={0,2})"
    ),
    judge: is_value,
    in_line: true,
};

/// Those of servers that anyone may run, such as Mattermost and Rocket.Chat.
pub(super) const OF_SERVERS: Form = Form {
    name: "key in a URL",
    signs: &["/hooks/"],
    pattern: r"://[a-z0-9.\-]+(?::[0-9]+)?/hooks/(?P<s>[a-z0-9]{24,32}|[A-Za-z0-9]{17,24}/[A-Za-z0-9]{40,})(?:[^A-Za-z0-9\-]|$)",
    judge: has_digit,
    in_line: true,
};

// The catalogue: every setting and variable that is known, what type it has, where it may stand, and what reads it. Data only.

/** The one provider of the platform that is known here. Names with its id precede general ones. */
export const PROVIDER = "alicloud-express";
const SCOPE = "ABX_ALICLOUD_EXPRESS_";

/**
 * The settings of the Alibaba Cloud platform. `sections` are the tables of a TOML file, best first; secrets have none. `used` says
 * whether this package acts on the setting; the others are for programs to read (`loadSettings`).
 */
export const SETTINGS = [
  { key: "provider", env: ["ABX_PROVIDER"], type: "text", sections: ["core"], fallback: PROVIDER },
  { key: "sandbox_api_key", env: [`${SCOPE}SANDBOX_API_KEY`, "ABX_SANDBOX_API_KEY"], type: "text", secret: true, used: true },
  { key: "sandbox_base_url", env: [`${SCOPE}SANDBOX_BASE_URL`, "ABX_SANDBOX_BASE_URL"], type: "text", sections: [`providers.${PROVIDER}`, "transport"], used: true },
  { key: "sandbox_domain", env: [`${SCOPE}SANDBOX_DOMAIN`, "ABX_SANDBOX_DOMAIN"], type: "text", sections: [`providers.${PROVIDER}`, "transport"], used: true },
  { key: "http_timeout", env: ["ABX_HTTP_TIMEOUT"], type: "number", sections: ["transport"], fallback: 30, least: 1 },
  { key: "http2", env: ["ABX_HTTP2"], type: "boolean", sections: ["transport"], fallback: true },
  { key: "max_connections", env: ["ABX_MAX_CONNECTIONS"], type: "whole", sections: ["transport"], fallback: 100, least: 1 },
  { key: "max_keepalive_connections", env: ["ABX_MAX_KEEPALIVE_CONNECTIONS"], type: "whole", sections: ["transport"], fallback: 20, least: 1 },
  { key: "keepalive_expiry", env: ["ABX_KEEPALIVE_EXPIRY"], type: "number", sections: ["transport"], fallback: 30, least: 1 },
  { key: "ws_ping_interval", env: ["ABX_WS_PING_INTERVAL"], type: "number", sections: ["transport"], fallback: 30, least: 1 },
  { key: "log_level", env: ["ABX_LOG_LEVEL"], type: "word", words: ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], sections: ["transport"], fallback: "WARNING" },
  { key: "default_template", env: ["ABX_DEFAULT_TEMPLATE"], type: "text", sections: ["transport"], fallback: "base" },
  { key: "github_token", env: ["GITHUB_TOKEN"], type: "text", secret: true },
  { key: "template_index_url", env: ["ABX_TEMPLATE_INDEX_URL"], type: "text" },
  { key: "template_dir", env: ["ABX_TEMPLATE_DIR"], type: "text" },
  { key: "mcp_auth_token", env: ["ABX_MCP_AUTH_TOKEN"], type: "text", secret: true },
  { key: "mcp_allowed_origins", env: ["ABX_MCP_ALLOWED_ORIGINS"], type: "text" },
  { key: "mcp_runtime_dir", env: ["ABX_MCP_RUNTIME_DIR"], type: "text" },
  { key: "region", env: ["ALIBABA_CLOUD_REGION_ID"], type: "text", sections: [`providers.${PROVIDER}`, "transport"], fallback: "cn-hangzhou", used: true },
  { key: "access_key_id", env: ["ALICLOUD_ACCESS_KEY_ID"], type: "text", used: true },
  { key: "access_key_secret", env: ["ALICLOUD_ACCESS_KEY_SECRET"], type: "text", secret: true, used: true },
].map((setting) => ({ sections: [], secret: false, used: false, ...setting, option: camelCase(setting.key) }));

/** The variables of the standard clients. They are not trimmed, and files do not have them unless they are asked for. */
export const VARIABLES = {
  E2B_API_KEY: { secret: true, used: true },
  E2B_ACCESS_TOKEN: { secret: true, used: true },
  E2B_DOMAIN: { used: true },
  E2B_API_URL: { used: true },
  E2B_SANDBOX_URL: { used: true },
  E2B_VOLUME_API_URL: { used: true },
  // Set but empty means something: yes.
  E2B_VALIDATE_API_KEY: { used: true, type: "boolean", emptyCounts: true },
  E2B_DEBUG: { used: true, type: "boolean" },
  // A pool of connections is the host's here.
  E2B_MAX_CONNECTIONS: { type: "number" },
  E2B_MAX_KEEPALIVE_CONNECTIONS: { type: "number" },
  E2B_KEEPALIVE_EXPIRY: { type: "number" },
  E2B_CONNECTION_RETRIES: { type: "number" },
};

/** Variables with our prefixes that others read or set: not mistaken for typing errors. */
const OF_OTHERS = ["ABX_SERVER_TOKEN", "E2B_SANDBOX", "E2B_SANDBOX_ID", "E2B_TEMPLATE_ID", "E2B_TEAM_ID", "E2B_EVENTS_ADDRESS", "E2B_INTEGRATION"];
const OF_OTHER_PROVIDERS = /^ABX_[A-Z0-9_]+_SANDBOX_(API_KEY|BASE_URL|DOMAIN)$/;

/** Every name that is read from an environment. */
export const NAMES = [...SETTINGS.flatMap(({ env }) => env), ...Object.keys(VARIABLES)];

export function isOfOthers(name) {
  return OF_OTHERS.includes(name) || OF_OTHER_PROVIDERS.test(name);
}

/** Regions in which the platform may be, to tell typing errors from regions that are newer than this list. */
export const REGIONS = (
  "cn-hangzhou cn-shanghai cn-beijing cn-shenzhen cn-qingdao cn-zhangjiakou cn-huhehaote cn-wulanchabu cn-chengdu cn-heyuan cn-guangzhou cn-nanjing cn-fuzhou " +
  "cn-hongkong ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-5 ap-southeast-6 ap-southeast-7 ap-northeast-1 ap-northeast-2 ap-south-1 " +
  "eu-central-1 eu-west-1 us-west-1 us-east-1 me-east-1 me-central-1 na-south-1"
).split(" ");

/** `sandbox_api_key` as options are written: `sandboxApiKey`. */
function camelCase(key) {
  return key.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
}

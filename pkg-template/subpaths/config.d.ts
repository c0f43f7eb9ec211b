import { AuthenticationError, ConnectionOpts, InvalidArgumentError, SandboxAuth } from "#package";

/**
 * Where settings come from: a map of environment variables (`process.env`, the `env` of a Worker, `Deno.env.toObject()`), of
 * which other bindings are left alone; `Deno.env` itself, which is then asked for single variables; or a file.
 */
export type ConfigSource = object | EnvironmentReader | EnvFileLayer | TomlLayer;

/** What `Deno.env` is. */
export interface EnvironmentReader {
    get(name: string): string | undefined;
    toObject(): Record<string, string>;
}

/** The text of a `.env` file, parsed. */
export interface EnvFileLayer {
    readonly kind: "envFile";
    readonly name: string;
    /** Its variables. Not enumerable, so that printing the layer does not print them. */
    readonly values: Readonly<Record<string, string>>;
}

/** The text of a TOML file, parsed. */
export interface TomlLayer {
    readonly kind: "toml";
    readonly name: string;
}

/**
 * A `.env` file as a source. Knows comments, `export`, quotes of three kinds, which may go over several lines, and in double quotes
 * the escapes `\n \r \t \f \b \v \\ \" \' \$`. Puts no variable into another one: `$NAME` stays as it is. Of several lines for one
 * variable the last one counts.
 *
 * Throws an `InvalidArgumentError` that names the line and quotes nothing of it.
 */
export declare function envFile(
    text: string,
    opts?: {
        /** What the file is called in errors and explanations. Default `.env`. */
        name?: string | undefined;
        /**
         * Whether variables of the standard clients (`E2B_…`) count as well. Default false, as in the platform's other client, which
         * reads them from the environment of the process only.
         */
        e2b?: boolean | undefined;
    },
): EnvFileLayer;

/**
 * A TOML file as a source: the tables `[providers.alicloud-express]`, `[transport]` and `[core]` of the platform's `config.toml`.
 * Secrets in it never count.
 *
 * Throws an `InvalidArgumentError` that names line and column and quotes nothing of the file.
 */
export declare function toml(
    text: string,
    opts?: {
        /** What the file is called in errors and explanations. Default `config.toml`. */
        name?: string | undefined;
    },
): TomlLayer;

/** All settings of the Alibaba Cloud platform. Durations are in seconds, as in its files. */
export interface Settings {
    /** `ABX_PROVIDER`. Default `alicloud-express`. */
    provider: string;
    /** `ABX_ALICLOUD_EXPRESS_SANDBOX_API_KEY`, `ABX_SANDBOX_API_KEY`. */
    sandboxApiKey: string | undefined;
    /** `ABX_ALICLOUD_EXPRESS_SANDBOX_BASE_URL`, `ABX_SANDBOX_BASE_URL`. Default: that of the region. */
    sandboxBaseUrl: string;
    /** `ABX_ALICLOUD_EXPRESS_SANDBOX_DOMAIN`, `ABX_SANDBOX_DOMAIN`. Default: that of the region. */
    sandboxDomain: string;
    /** `ABX_HTTP_TIMEOUT`, in seconds, 1 or more. Default 30. */
    httpTimeout: number;
    /** `ABX_HTTP2`. Default true. */
    http2: boolean;
    /** `ABX_MAX_CONNECTIONS`, 1 or more. Default 100. */
    maxConnections: number;
    /** `ABX_MAX_KEEPALIVE_CONNECTIONS`, 1 or more. Default 20. */
    maxKeepaliveConnections: number;
    /** `ABX_KEEPALIVE_EXPIRY`, in seconds, 1 or more. Default 30. */
    keepaliveExpiry: number;
    /** `ABX_WS_PING_INTERVAL`, in seconds, 1 or more. Default 30. */
    wsPingInterval: number;
    /** `ABX_LOG_LEVEL`. Default `WARNING`. */
    logLevel: "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL";
    /** `ABX_DEFAULT_TEMPLATE`. Default `base`. `Sandbox.create` does not read it. */
    defaultTemplate: string;
    /** `GITHUB_TOKEN`. */
    githubToken: string | undefined;
    /** `ABX_TEMPLATE_INDEX_URL`. */
    templateIndexUrl: string | undefined;
    /** `ABX_TEMPLATE_DIR`. */
    templateDir: string | undefined;
    /** `ABX_MCP_AUTH_TOKEN`. */
    mcpAuthToken: string | undefined;
    /** `ABX_MCP_ALLOWED_ORIGINS`. */
    mcpAllowedOrigins: string | undefined;
    /** `ABX_MCP_RUNTIME_DIR`. */
    mcpRuntimeDir: string | undefined;
    /** `ALIBABA_CLOUD_REGION_ID`. Default `cn-hangzhou`. */
    region: string;
    /** `ALICLOUD_ACCESS_KEY_ID`. */
    accessKeyId: string | undefined;
    /** `ALICLOUD_ACCESS_KEY_SECRET`. */
    accessKeySecret: string | undefined;
}

/** Settings as they may be given: numbers and booleans also as text, as an environment has them. */
export type SettingOverrides = { [Name in keyof Settings]?: Settings[Name] | (Settings[Name] extends number | boolean ? string : never) | undefined };

/** Options of {@link loadConfig} and {@link explainConfig}. */
export interface LoadConfigOpts {
    /** What precedes every source: connection options, which become part of the result, and settings. */
    overrides?: (Omit<ConnectionOpts, "environment" | "platform"> & SettingOverrides) | undefined;
    /**
     * Which platform is meant where no domain is set. Default `"auto"`: Alibaba Cloud when one of its settings is there, otherwise
     * E2B. With `"e2b"` settings of Alibaba Cloud do not count.
     */
    platform?: "auto" | "e2b" | "alicloud-express" | undefined;
    /**
     * Sign requests with `ALICLOUD_ACCESS_KEY_ID` and `ALICLOUD_ACCESS_KEY_SECRET` (the option `auth`) instead of sending an API key, for
     * control planes behind a gateway of Alibaba Cloud. Default false: machines have such a key for other purposes.
     */
    signWithAccessKey?: boolean | undefined;
}

/** Options for `Sandbox.create`, `new E2B`, `createSandboxBroker` and everything else that takes connection options. */
export interface LoadedConfig extends ConnectionOpts {
    apiKey?: string;
    auth?: SandboxAuth;
    domain?: string;
    apiUrl?: string;
    sandboxUrl?: string;
    /** What there is no option for. That it is there keeps the environment of the process from being read in addition. */
    environment: Record<string, string>;
}

/**
 * The connection options that the sources come to. Of several sources the first one with a usable value counts, setting by setting:
 * `loadConfig([process.env, envFile(text), toml(text)])`. Before them come `overrides`. Blank values count as unset, and so do
 * texts that are no number or boolean where one is needed.
 *
 * What is a default, or follows from other options, is left out of the result, so that more options can be put over it:
 * `{ ...loadConfig(env), requestTimeoutMs: 5000 }`. A console shows it without its secrets; JSON has them.
 *
 * Throws an `InvalidArgumentError` that names the variable and its source for a value that is no text, a malformed URL or domain, a
 * region that is none, and a key that would go to the other platform; an `AuthenticationError` for an API key that fails the check
 * which `E2B_VALIDATE_API_KEY` asks for. A missing API key is no error: only calls of the control plane need one.
 */
export declare function loadConfig(sources: ConfigSource | readonly ConfigSource[], opts?: LoadConfigOpts): LoadedConfig;

/** All settings of the platform, with its rules and defaults, for programs that act on them. Sources and errors as for {@link loadConfig}. */
export declare function loadSettings(sources: ConfigSource | readonly ConfigSource[], opts?: { overrides?: SettingOverrides | undefined }): Settings;

/** One value of an explanation. */
export interface ConfigEntry {
    /** The name of the option or setting. */
    readonly name: string;
    /** The value; of a secret only how long it is. */
    readonly value: string | number | boolean | undefined;
    readonly secret: boolean;
    /** Whether this package acts on it. */
    readonly used: boolean;
    /** What kind of source it comes from. `derived` values follow from the variable or option that is named. */
    readonly layer: "override" | "environment" | "envFile" | "toml" | "derived" | "default" | "unset";
    /** The name of the source: `environment`, `environment 2`, or that of a file. */
    readonly source: string | undefined;
    /** The variable, the key with its table (`transport.region`), or the override. */
    readonly variable: string | undefined;
    /** The line of a `.env` file. */
    readonly line: number | undefined;
}

/** Something that is probably not what was meant. */
export interface ConfigWarning {
    readonly code: "unknown_variable" | "unknown_key" | "unknown_region" | "unusable_value" | "suspicious_value" | "ignored" | "not_readable";
    /** A sentence without values of secrets. */
    readonly message: string;
    readonly variable: string | undefined;
    readonly source: string | undefined;
    /** The name that was probably meant. */
    readonly suggestion: string | undefined;
}

/** What a configuration comes to and why. */
export interface ConfigExplanation {
    /** Everything that decides about connections; when `errors` prevented it, only what is set, as it is set. */
    readonly options: readonly ConfigEntry[];
    /** All settings of the Alibaba Cloud platform, as if it was meant. */
    readonly settings: readonly ConfigEntry[];
    readonly warnings: readonly ConfigWarning[];
    /** What {@link loadConfig} would throw. */
    readonly errors: readonly (InvalidArgumentError | AuthenticationError)[];
    /** A table for people. */
    toString(): string;
}

/**
 * Where each value of a configuration comes from, with secrets masked. Takes what {@link loadConfig} takes, and throws only for
 * sources and options that are none: what is wrong with values is part of the explanation.
 */
export declare function explainConfig(sources: ConfigSource | readonly ConfigSource[], opts?: LoadConfigOpts): ConfigExplanation;

/** What is known of a secret. Its value is never answered. */
export interface SecretInfo {
    secretId: string;
    /** Unique within the key's project. */
    name: string;
    /** 1 for a new secret, one more for each `Secret.update`. */
    version: number;
    metadata: Record<string, string>;
    createdAt: Date;
    updatedAt: Date;
}

/** Options of `Secret.create`. */
export interface SecretCreateOpts extends ConnectionOpts {
    /** Kept beside the value, and answered. Default: none. */
    metadata?: Record<string, string> | undefined;
}

/** Options of `Secret.update`. */
export interface SecretUpdateOpts extends ConnectionOpts {
    /** Replaces the metadata. Default: it stays as it is. */
    metadata?: Record<string, string> | undefined;
}

export type SecretGetInfoOpts = ConnectionOpts;
export type SecretExistsOpts = ConnectionOpts;
export type SecretDestroyOpts = ConnectionOpts;

/** Options of `Secret.list`. */
export interface SecretListOpts extends Omit<ConnectionOpts, "signal"> {
    /** How many secrets a page has at most, 1 to 100. Default: as the server says, 100. */
    limit?: number | undefined;
    /** Where to begin: the `nextToken` of a paginator. Default: with the first page. */
    nextToken?: string | undefined;
}

/** Which kind of identity token a sandbox is given. */
export type SandboxIamTokenType = "JWT-SVID" | (string & {});

/** An identity token that the platform makes for each request of the sandbox that needs it. */
export interface SandboxIamToken {
    /** Whom the token is for. */
    audience: string;
    tokenType: SandboxIamTokenType;
}

/**
 * Values that the platform keeps, and that `network.rules` puts into requests of a sandbox on their way out: no code inside ever
 * has them. The local server keeps none.
 *
 * All methods that send a request reject with an `AuthenticationError` for a key that is missing or wrong, a `SecretError` for
 * what the server refuses otherwise, and a `ConnectionError` when it cannot be reached. A secret is named by its id or its name.
 */
export class Secret {
    private constructor();
    /** Stores a value under a new name. Rejects with a `SecretError` when the name is taken or is none. */
    static create(name: string, value: string, opts?: SecretCreateOpts): Promise<SecretInfo>;
    /** Replaces the value. Rejects with a `SecretNotFoundError` when there is no such secret. */
    static update(secret: string, value: string, opts?: SecretUpdateOpts): Promise<SecretInfo>;
    /** What is known of a secret. Rejects with a `SecretNotFoundError` when there is no such secret. */
    static getInfo(secret: string, opts?: SecretGetInfoOpts): Promise<SecretInfo>;
    /** All secrets, page by page or with `for await`. Throws an `InvalidArgumentError` for a wrong option. */
    static list(opts?: SecretListOpts): SecretPaginator;
    /** Whether there is such a secret. */
    static exists(secret: string, opts?: SecretExistsOpts): Promise<boolean>;
    /** Deletes a secret with all its versions. Resolves to false when there is none. */
    static destroy(secret: string, opts?: SecretDestroyOpts): Promise<boolean>;
    /**
     * What stands for the value in a header: `{ transform: { headers: { Authorization: "Bearer " + Secret.fill("name") } } }`.
     * Asks nobody whether there is such a secret. Throws an `InvalidArgumentError` for a name with braces or control characters.
     */
    static fill(secret: string): string;
    /** A token for the option `iam.tokens` of `Sandbox.create`. Throws an `InvalidArgumentError` when a member is missing. */
    static iamToken(token: SandboxIamToken): SandboxIamToken;
}

/** The secrets, a page at a time; or all of them with `for await`. */
export class SecretPaginator implements AsyncIterable<SecretInfo> {
    /** Throws an `InvalidArgumentError` for a wrong option. */
    constructor(opts?: SecretListOpts);
    /** Whether there may be another page. */
    readonly hasNext: boolean;
    /** Where the next page begins; undefined before the first and after the last page. */
    readonly nextToken: string | undefined;
    /** The next page. Rejects with an `InvalidArgumentError` when there is none, and while another call is under way. */
    nextItems(opts?: ConnectionOpts): Promise<SecretInfo[]>;
    [Symbol.asyncIterator](): AsyncIterator<SecretInfo>;
}

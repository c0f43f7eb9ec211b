/**
 * The signature that makes a file URL of envd work without headers: the parameters `signature` and `signature_expiration` beside
 * `path` and `username`. `downloadUrl` and `uploadUrl` build whole URLs.
 *
 * `expiration` is in Unix seconds, null when the URL does not expire. Rejects with an `InvalidArgumentError` that names what is
 * missing.
 */
export function getSignature(opts: SignatureOpts): Promise<{ signature: string; expiration: number | null }>;

export interface SignatureOpts {
    /** The path as the URL will have it. */
    path: string;
    operation: "read" | "write";
    /** The user as the URL will have it. Default: none. */
    user?: string | undefined;
    /** Seconds from now. Default: it does not expire. */
    expirationInSeconds?: number | undefined;
    /** `envdAccessToken` of `sandbox.toToken()`. */
    envdAccessToken: string;
}

// Errors: classes of the E-series.

/** What errors of the family may know. */
export interface ProviderErrorFacts extends ErrorFacts {
    provider?: string | undefined;
    feature?: string | undefined;
    operation?: string | undefined;
    outcomeUnknown?: boolean | undefined;
}

/** What every error of the family may have. */
export interface ProviderFacts {
    /** The id of the provider. */
    readonly provider?: string;
    /** True when nobody can say whether what was asked for was done: inspect the state before repeating it. */
    readonly outcomeUnknown?: boolean;
}

/** E1001 */
export declare class InvalidAPIKeyError extends AuthenticationError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E1003 */
export declare class InvalidCredentialsError extends AuthenticationError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E2000 */
export declare class SandboxCreationError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E2001 */
export declare class TemplateNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E2002 */
export declare class QuotaExceededError extends RateLimitError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E3001 */
export declare class CommandTimeoutError extends TimeoutError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E3005 */
export declare class CommandNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E3006 */
export declare class EnvdRpcError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly rpcPath?: string;
}
/** E4000 */
export declare class FileOperationError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E4002 */
export declare class PermissionDeniedError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E4003 */
export declare class FileSizeLimitError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    /** Bytes. */
    readonly limit?: number;
}
/** E8000 */
export declare class ProviderError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8001 */
export declare class ProviderNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8002 */
export declare class ProviderConfigError extends InvalidArgumentError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8003 */
export declare class ProviderConflictError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8004: the provider does not declare it, or has no way to do it. Nothing was sent. */
export declare class ProviderFeatureNotSupportedError extends UnsupportedError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly feature?: string;
    readonly operation?: string;
}
/** E8005 */
export declare class ProviderResourceNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8020: the answer is not the protocol, or did not come, and then nobody knows what was done. */
export declare class ProviderProtocolError extends ProtocolError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8022 */
export declare class ProviderTimeoutError extends TimeoutError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8030 */
export declare class ProviderMismatchError extends InvalidArgumentError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E9000: the service behind a port refused, or answered something else than JSON (`errorType`: `ProtocolError`, `BindingRedirect`). */
export declare class ServerAPIError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly errorType?: string;
}
/** E9001 */
export declare class ServerAuthError extends AuthenticationError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E9002 */
export declare class PolicyDeniedError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly scope?: string;
}
/** E9003 */
export declare class EndpointNotAvailableError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E9004 */
export declare class PayloadTooLargeError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    /** Bytes. */
    readonly limit?: number;
}
/** E9005 */
export declare class RateLimitedError extends RateLimitError {
    constructor(message: string, facts?: ProviderErrorFacts);
    /** Seconds. */
    readonly retryAfter?: number;
}

export interface InvalidAPIKeyError extends ProviderFacts {}
export interface InvalidCredentialsError extends ProviderFacts {}
export interface SandboxCreationError extends ProviderFacts {}
export interface TemplateNotFoundError extends ProviderFacts {}
export interface QuotaExceededError extends ProviderFacts {}
export interface CommandTimeoutError extends ProviderFacts {}
export interface CommandNotFoundError extends ProviderFacts {}
export interface EnvdRpcError extends ProviderFacts {}
export interface FileOperationError extends ProviderFacts {}
export interface PermissionDeniedError extends ProviderFacts {}
export interface FileSizeLimitError extends ProviderFacts {}
export interface ProviderError extends ProviderFacts {}
export interface ProviderNotFoundError extends ProviderFacts {}
export interface ProviderConfigError extends ProviderFacts {}
export interface ProviderConflictError extends ProviderFacts {}
export interface ProviderFeatureNotSupportedError extends ProviderFacts {}
export interface ProviderResourceNotFoundError extends ProviderFacts {}
export interface ProviderProtocolError extends ProviderFacts {}
export interface ProviderTimeoutError extends ProviderFacts {}
export interface ProviderMismatchError extends ProviderFacts {}
export interface ServerAPIError extends ProviderFacts {}
export interface ServerAuthError extends ProviderFacts {}
export interface PolicyDeniedError extends ProviderFacts {}
export interface EndpointNotAvailableError extends ProviderFacts {}
export interface PayloadTooLargeError extends ProviderFacts {}
export interface RateLimitedError extends ProviderFacts {}

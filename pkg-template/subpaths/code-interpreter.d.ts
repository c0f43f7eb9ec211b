import { E2B as BaseClient, Sandbox as Base } from "#package";

export * from "#package";

/**
 * The `Sandbox` of the main entry, for code: `create` makes sandboxes from the template `code-interpreter-v1` unless
 * another one is named.
 */
export declare const Sandbox: typeof Base;
export type Sandbox = Base;
/** The client of the main entry, whose sandboxes are made from `code-interpreter-v1` as well. */
export declare class E2B extends BaseClient {}
export default Sandbox;

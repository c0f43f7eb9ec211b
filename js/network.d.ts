/** All addresses: for `denyOut`, to block everything that `allowOut` does not name. */
export const ALL_TRAFFIC: "0.0.0.0/0";

/** Changes to requests, by host. */
export type SandboxNetworkRules = Record<string, SandboxNetworkRule[]> | Map<string, SandboxNetworkRule[]>;

export interface SandboxNetworkRule {
    /** What is changed in every request to the host; or a function that answers it, called once while the call is made. */
    transform?: SandboxNetworkTransform | SandboxNetworkTransformResolver | undefined;
}

export interface SandboxNetworkTransform {
    /** Headers that are set, in place of those of the same name. */
    headers?: Record<string, string> | undefined;
}

export type SandboxNetworkTransformResolver = (context: SandboxNetworkTransformContext) => SandboxNetworkTransform;

/** What stands for values that the platform puts into requests on their way out. */
export interface SandboxNetworkTransformContext {
    iam: {
        /**
         * What stands for each token of the option `iam.tokens` of `Sandbox.create`. Reading another name throws an
         * `InvalidArgumentError`; in `updateNetwork`, where the names are not known, any can be read.
         */
        tokens: Record<string, string>;
    };
}

/** Addresses, networks and domains; or a function that answers them, such as `({ rules }) => [...rules.keys()]`. */
export type SandboxNetworkTargets = string[] | ((context: SandboxNetworkContext) => string[]);

export interface SandboxNetworkContext {
    /** The same as `ALL_TRAFFIC`. */
    allTraffic: "0.0.0.0/0";
    /** The `rules` beside it. */
    rules: Map<string, SandboxNetworkRule[]>;
}

// Names that the standard client has for types which are called otherwise here, or are written where they are used.

/** The same as `RequestOpts`. */
export type CommandRequestOpts = RequestOpts;
/** The same as `ConnectionOpts`. */
export type ConnectionConfigOpts = ConnectionOpts;
/** The same as `ConnectionOpts`: what calls of the control plane take. */
export type SandboxApiOpts = ConnectionOpts;
/** The same as `SnapshotCreateOpts`. */
export type CreateSnapshotOpts = SnapshotCreateOpts;

export type SandboxState = SandboxInfo["state"];
export type SandboxOnTimeout = NonNullable<SandboxLifecycle["onTimeout"]>;
export type SandboxInfoLifecycle = NonNullable<SandboxInfo["lifecycle"]>;
/** The name of an MCP server. */
export type McpServerName = keyof McpServer;

export type SandboxEgressProxyOpts = NonNullable<SandboxNetworkOpts["egressProxy"]>;
/** As the control plane answers it: without the password. */
export type SandboxEgressProxyInfo = Omit<SandboxEgressProxyOpts, "password">;
export type SandboxNetworkInfo = NonNullable<SandboxInfo["network"]>;
/** A rule as the control plane answers it: never a function. */
export interface SandboxNetworkRuleInfo {
    transform?: SandboxNetworkTransform;
}
/** The same as `SandboxNetworkTargets`. */
export type SandboxNetworkSelector = SandboxNetworkTargets;
/** The same as `SandboxNetworkContext`. */
export type SandboxNetworkSelectorContext = SandboxNetworkContext;

/** Text that a command wrote to standard output. */
export type Stdout = string;
/** Text that a command wrote to standard error. */
export type Stderr = string;
/** Bytes of a terminal. */
export type PtyOutput = Uint8Array<ArrayBuffer>;
/** The name of a user in the sandbox. */
export type Username = string;

/** The same as `GitOpts`. */
export type GitRequestOpts = GitOpts;
/** The same as `GitAuthenticateOpts`. */
export type GitDangerouslyAuthenticateOpts = GitAuthenticateOpts;
export type GitConfigScope = NonNullable<GitConfigOpts["scope"]>;
export type GitDeleteBranchOpts = NonNullable<Parameters<Git["deleteBranch"]>[2]>;
export type GitResetMode = NonNullable<GitResetOpts["mode"]>;
export type GitStatusLabel = GitFileStatus["status"];

/** The same as `VolumeMetadata`. */
export type VolumeMetadataOpts = VolumeMetadata;
/** @deprecated The same as `VolumeMetadata`. */
export type VolumeMetadataOptions = VolumeMetadata;
/** @deprecated The same as `VolumeWriteOpts`. */
export type VolumeWriteOptions = VolumeWriteOpts;

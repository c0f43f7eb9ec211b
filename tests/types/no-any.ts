// No `any` is left in what the package exports: neither in a member, nor in what a method takes or answers.

import type * as sdk from "agent-sandbox-web";
import type * as server from "agent-sandbox-web/server";

type IsAny<T> = 0 extends 1 & T ? true : false;

/** The names of the members of `T` that are `any`, take one, answer one or promise one. */
type Leaks<T> = {
  [Name in keyof T]-?: true extends Suspects<T[Name]> ? Name : never;
}[keyof T];

type Suspects<Member> =
  IsAny<Member> extends true
    ? true
    : Member extends (...args: infer Arguments) => infer Answer
      ? IsAny<Arguments[number]> | IsAny<Answer> | IsAny<Awaited<Answer>>
      : IsAny<Awaited<Member>>;

type Nothing<T extends never> = T;

/** What the classes leak, in themselves and in their objects. Of a function TypeScript says that its prototype is `any`. */
type Classes<Name extends keyof typeof sdk> = Name extends unknown
  ? (typeof sdk)[Name] extends { prototype: infer Object }
    ? IsAny<Object> extends true
      ? never
      : Leaks<(typeof sdk)[Name]> | Leaks<Object>
    : never
  : never;

export type Checked = [
  Nothing<Leaks<typeof sdk>>,
  Nothing<Classes<keyof typeof sdk>>,
  Nothing<Leaks<sdk.SandboxOpts>>,
  Nothing<Leaks<server.ServerClient>>,
  Nothing<Leaks<server.ServerCapabilities>>,
  Nothing<Leaks<server.ServerProcess>>,
  Nothing<Leaks<server.ServerProcesses & server.ServerFiles & server.ServerCommands>>,
  Nothing<Leaks<server.ServerBrowser & server.ServerSystem & server.ServerDevTools & server.ServerCode>>,
  Nothing<Leaks<sdk.CommandStartOpts>>,
  Nothing<Leaks<sdk.CommandResult>>,
  Nothing<Leaks<sdk.EntryInfo>>,
  Nothing<Leaks<sdk.SandboxInfo>>,
  Nothing<Leaks<sdk.VolumeWriteOpts>>,
  Nothing<Leaks<sdk.VolumeEntryStat>>,
  Nothing<Leaks<sdk.SandboxNetworkOpts>>,
  Nothing<Leaks<sdk.FilesystemReadOpts>>,
  Nothing<Leaks<sdk.BuildOptions>>,
  Nothing<Leaks<sdk.TemplateBuildStatusResponse>>,
  Nothing<Leaks<sdk.SecretInfo>>,
  Nothing<Leaks<sdk.ApiRequest>>,
];

// The check itself works.
interface Leaky {
  value: any;
  take(value: any): void;
  answer(): Promise<any>;
  fine(text: string): Promise<number>;
}
export const caught: Leaks<Leaky>[] = ["value", "take", "answer"];
// @ts-expect-error a member without `any` is not caught
export const notCaught: Leaks<Leaky> = "fine";

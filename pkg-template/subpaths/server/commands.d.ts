/** Options of running a named command. */
export interface ServerCommandOpts extends ServerCallOpts {
    /** How long it may take, in milliseconds. The server has no limit of its own. Default: as `requestTimeoutMs`. */
    timeoutMs?: number | undefined;
}

/** Named commands: functions that the author of the image has registered. */
export interface ServerCommands {
    /** Those that this token may see. */
    list(opts?: ServerCallOpts): Promise<ServerCommand[]>;
    /**
     * Runs a command with arguments by name, each sent as the JSON that it is. Answers what the function answers.
     *
     * Rejects with a {@link CommandNotFoundError}, a {@link CommandArgumentError} when the server refuses the arguments, and a
     * {@link CommandExecutionError} when the function fails. Aborting does not stop the function.
     */
    run(name: string, args?: Record<string, unknown>, opts?: ServerCommandOpts): Promise<unknown>;
    /** The commands as methods, with the types that you name: `typed<{ greet(args: { name: string }): string }>()`. They are not checked. */
    typed<Commands extends object>(): TypedCommands<Commands>;
}

/** Methods for an interface of commands. */
export type TypedCommands<Commands extends object> = {
    readonly [Name in keyof Commands]: Commands[Name] extends (...args: infer Args) => infer Answer
        ? (...args: [...args: Args, opts?: ServerCommandOpts]) => Promise<Awaited<Answer>>
        : never;
};

export interface ServerCommand {
    name: string;
    description: string;
    args: ServerCommandArgument[];
}

export interface ServerCommandArgument {
    name: string;
    type: "string" | "integer" | "float" | "boolean" | "string_array" | (string & {});
    required: boolean;
    /** The default as text; undefined when there is none. */
    default: string | undefined;
    description: string;
}

/**
 * TypeScript for named commands, made from what `commands.list()` answers: an interface for `commands.typed`. The server does not say
 * what commands answer: that is `unknown`, or what `results` says by name.
 *
 * Throws an `InvalidArgumentError` when `commands` is no such list.
 */
export declare function generateCommandTypes(
    commands: ServerCommand[],
    opts?: {
        /** The name of the interface. Default `Commands`. */
        name?: string | undefined;
        /** Types of answers by the name of the command, as TypeScript: `{ greet: "string" }`. */
        results?: Record<string, string> | undefined;
    },
): string;

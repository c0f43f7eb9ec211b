// What needs a host, and says so.

export declare function installProvider(source?: string): Promise<never>;
export declare function uninstallProvider(id?: string): Promise<never>;
export declare function updateProvider(id?: string): Promise<never>;
export declare function doctor(id?: string): Promise<never>;
/** Providers that are programs which speak over standard input and output. */
export declare function startExecProvider(command?: readonly string[]): Promise<never>;
export declare function discoverEngine(): Promise<never>;

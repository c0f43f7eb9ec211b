// Where the programs run and print: the one thing about them that is not the same in Node and in a page.

declare const process: { env: Record<string, string | undefined> } | undefined;
declare const migration: { apiUrl: string; sandboxUrl?: string; apiKey: string; print(line: string): void } | undefined;

const given = typeof migration === "undefined" ? undefined : migration;

/** In Node the clients read the environment themselves. */
export const connection = given ? { apiUrl: given.apiUrl, apiKey: given.apiKey } : {};

/** One line of the program's output. */
export const print = (line: string) => (given ? given.print(line) : console.log(line));

/** What differs from run to run. */
export const hideIds = (text: string, ...ids: (string | number)[]) => ids.reduce<string>((result, id, index) => result.replaceAll(String(id), `<${index}>`), text);

// The few lines that every host runs. They are given the package, because importing it is the host's part.

/** What the program comes to where everything works. */
export const EXPECTED = "hello content";

/**
 * @param {object} sdk The package, however the host imported it.
 * @param {object | string} settings The options that lead to the server, or where to fetch them.
 * @returns {Promise<string>} {@link EXPECTED}, or what went wrong.
 */
export async function run({ Sandbox }, settings) {
  try {
    const options = typeof settings === "string" ? await (await fetch(settings)).json() : settings;
    const sandbox = await Sandbox.create("base", options);
    try {
      const { stdout } = await sandbox.commands.run("echo hello");
      await sandbox.files.write("/tmp/data.txt", "content");
      return `${stdout.trim()} ${await sandbox.files.read("/tmp/data.txt")}`;
    } finally {
      await sandbox.kill();
    }
  } catch (error) {
    return `${error.name} ${error.code}: ${error.message}`;
  }
}

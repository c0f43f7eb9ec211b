import { Sandbox } from "agent-sandbox-web";

declare const process: { env: Record<string, string | undefined> };
const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl } = process.env;

const sandbox = await Sandbox.create("base", { apiKey, apiUrl /* local server */ });
try {
  const result = await sandbox.commands.run("echo hello");
  console.log(result.stdout);
  await sandbox.files.write("/tmp/data.txt", "content");
  console.log(await sandbox.files.read("/tmp/data.txt"));
} finally {
  await sandbox.kill();
}

// A durable command and a page that is reloaded in the middle of it. The page is not the demo: any document of its origin does.

import { equal } from "../e2e/assert.js";

export const cases = [
  {
    name: "reload: a durable command goes on in the reloaded page at exactly the next byte",
    // The reload cuts connections.
    networkErrors: true,
    async run({ page, origin, apiUrl, apiKey }) {
      const access = { apiUrl, apiKey };
      await page.goto(`${origin}/tests/page/reload.js`);
      await page.evaluate(async (access) => {
        const { Sandbox } = await import("/pkg/dist/index.js");
        const sandbox = await Sandbox.create("base", access);
        localStorage.sandbox = JSON.stringify(sandbox.toToken());
        const command = "for i in $(seq 1 80); do echo $i ü; sleep 0.05; done; exit 9";
        const handle = await sandbox.commands.run(command, { background: true, durable: true });
        // Goes on until the page is gone.
        (async () => {
          let seen = "";
          for await (const { data } of handle) {
            localStorage.state = JSON.stringify({ seen, token: handle.token });
            seen += data;
          }
        })();
      }, access);
      await page.waitForFunction(() => localStorage.state?.includes("20 ü"));
      await page.reload();
      const { text, code } = await page.evaluate(async (access) => {
        const { Sandbox } = await import("/pkg/dist/index.js");
        const sandbox = await Sandbox.attach(JSON.parse(localStorage.sandbox));
        const { seen, token } = JSON.parse(localStorage.state);
        const handle = await sandbox.commands.attach(token, { check: false });
        const { stdout, exitCode } = await handle.wait();
        await Sandbox.kill(sandbox.sandboxId, access);
        return { text: seen + stdout, code: exitCode };
      }, access);
      equal([text, code], [Array.from({ length: 80 }, (_, i) => `${i + 1} ü\n`).join(""), 9]);
    },
  },
];

// The tutorial of the demo site, from its first cell to its last, and its back end.

import { assert, equal } from "../e2e/assert.js";
import { ended, output, start } from "./steps.js";

export const cases = [
  {
    name: "demo: the cells of the tutorial run one after the other",
    // The DataFrame brings an inline style.
    policyNotices: true,
    async run({ page, origin }) {
      await page.goto(`${origin}/`);
      for (const id of ["make", "table", "plot", "script"]) {
        await start(page, id);
        equal(await ended(page, id), "ok", id);
      }
      await output(page, "make").getByText("731 data/weather.csv").waitFor();
      await page.locator("#table").frameLocator("iframe").getByRole("columnheader", { name: "Coast" }).waitFor();
      await output(page, "plot").getByRole("img", { name: /^Line chart. Mean temperature/ }).waitFor();
      await output(page, "script").getByText("days of frost inland").waitFor();
      await page.locator("sandbox-files").getByRole("treeitem").filter({ hasText: "data/" }).waitFor();
      const holdsKey = await page.evaluate(() => document.documentElement.outerHTML.includes("e2b_"));
      assert(!holdsKey, "a key in the page");
    },
  },
  {
    name: "demo: the back end turns away other sites, other types, other people's sandboxes and too many",
    async run({ origin, apiKey }) {
      const ask = (body, { method = "POST", headers = {} } = {}) =>
        fetch(`${origin}/sandbox`, { method, headers: { Origin: origin, "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });
      equal((await ask({}, { headers: { Origin: "https://evil.example" } })).status, 403);
      equal((await ask({}, { headers: { "Content-Type": "text/plain" } })).status, 415);
      equal((await ask({ sandboxId: "../x" })).status, 400);
      equal((await ask({ sandboxId: "x".repeat(2000) })).status, 413);
      equal((await ask({ sandboxId: "inothing" })).status, 410);

      const first = await ask({});
      equal(first.status, 200);
      const cookie = first.headers.get("set-cookie");
      assert(/HttpOnly; SameSite=Lax/.test(cookie), cookie);
      const Cookie = cookie.split(";")[0];
      const text = await first.text();
      assert(!text.includes(apiKey), "the key in the answer");
      const { sandboxId, expiresAt } = JSON.parse(text);
      assert(Date.parse(expiresAt) > Date.now(), "an end to the access");
      equal((await (await ask({ sandboxId }, { headers: { Cookie } })).json()).sandboxId, sandboxId);
      equal((await ask({ sandboxId })).status, 410, "somebody else's sandbox");
      equal((await ask({ sandboxId }, { method: "DELETE" })).status, 404, "somebody else's sandbox");
      const more = [await ask({}, { headers: { Cookie } }), await ask({}, { headers: { Cookie } }), await ask({}, { headers: { Cookie } })];
      equal(more.map(({ status }) => status), [200, 200, 429]);
      assert(Number(more[2].headers.get("retry-after")) > 0, "when to come back");
      for (const id of [sandboxId, ...(await Promise.all(more.slice(0, 2).map(async (one) => (await one.json()).sandboxId)))]) {
        equal((await ask({ sandboxId: id }, { method: "DELETE", headers: { Cookie } })).status, 204);
      }
    },
  },
];

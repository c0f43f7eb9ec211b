// The tutorial of the demo site, from its first cell to its last. Its back end is tested by tests/broker.

import { assert, equal } from "../e2e/assert.js";
import { ended, output, start } from "./steps.js";

export const cases = [
  {
    name: "demo: the cells of the tutorial run one after the other",
    // The DataFrame brings an inline style.
    policyNotices: true,
    async run({ page, origin }) {
      await page.goto(`${origin}/`);
      // What stands in a session is the page's, and looks like the rest of it.
      const looks = await page.locator("main > p:not(.lead), sandbox-session > p").evaluateAll((all) => all.map((p) => [getComputedStyle(p).font, getComputedStyle(p).color].join()));
      equal([looks.length > 4, new Set(looks).size], [true, 1]);
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
];

// How the demo site is built: `cargo xtask demo` calls Vite with this. The pages import the package by its name, as a user would have
// installed it; nothing here is needed for that.

import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export default {
  root: here("."),
  // The site may lie below any path.
  base: "./",
  build: {
    outDir: here("../build/www"),
    emptyOutDir: true,
    target: "es2022",
    // The pages' policy lets images come from the site, and not from the pages themselves.
    assetsInlineLimit: 0,
    // Every browser that has what the elements need preloads modules by itself.
    modulePreload: { polyfill: false },
    rolldownOptions: { input: ["index.html", "playground.html"].map(here) },
  },
};

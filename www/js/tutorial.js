// The tutorial: defines the elements, and copies the snippet.

import "agent-sandbox-web/elements";
import { announce, byId } from "./dom.js";

byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(`${byId("snippet").textContent}\n`);
    announce("Copied");
    byId("copy").textContent = "Copied";
    setTimeout(() => (byId("copy").textContent = "Copy"), 1500);
  } catch {
    // Without permission for the clipboard the text is selected, so that the visitor can copy it.
    getSelection().selectAllChildren(byId("snippet"));
    announce("Selected");
  }
});

"use client";

import * as sdk from "agent-sandbox-web";
import { useEffect } from "react";
import { run } from "../shared/program.js";

// Rendered on the server as well, where the import must do no harm.
export default function Page() {
  useEffect(() => {
    run(sdk, "/settings.json").then((line) => (document.title = line));
  }, []);
  return <p>{typeof sdk.Sandbox.create}</p>;
}

export const cases = [
  { name: "all permissions", run: (lab) => lab.sh("deno run --allow-all shared/print.js") },
  { name: "only net and two variables", run: (lab) => lab.sh("deno run --allow-net --allow-env=E2B_API_KEY,E2B_API_URL --no-prompt shared/print.js") },
];

export const cases = [
  { name: "a module", run: (lab) => lab.sh("node shared/print.js") },
  { name: "require", run: (lab) => lab.sh("node main.cjs") },
];

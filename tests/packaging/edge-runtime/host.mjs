export const cases = [
  {
    name: "the command line",
    async run(lab) {
      await lab.sh("esbuild main.js --bundle --outfile=dist/main.js");
      const url = await lab.service("edge-runtime dist/main.js --listen --port 0");
      return (await fetch(`${url}/?${new URLSearchParams(lab.settings)}`)).text();
    },
  },
];

export const cases = [
  {
    name: "dev, without nodejs_compat",
    async run(lab) {
      const { apiUrl, apiKey } = lab.settings;
      const bindings = `--var "E2B_API_URL:${apiUrl}" --var "E2B_API_KEY:${apiKey}"`;
      const url = await lab.service(`wrangler dev --port 0 --ip 127.0.0.1 --show-interactive-dev-session=false ${bindings}`);
      return (await fetch(url)).text();
    },
  },
];

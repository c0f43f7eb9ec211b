// How the runners learn where the server, the web server and the browser are: from the environment that `cargo xtask test`
// sets.

export function settings() {
  return {
    apiUrl: required("TEST_API_URL"),
    apiKey: required("TEST_API_KEY"),
    /** Serves the demo site at `/`, the installed package at `/pkg/` and the tests at `/tests/`. */
    origin: required("TEST_ORIGIN"),
    /** Part of the names of the cases to run; all when absent. */
    filter: process.env.TEST_FILTER,
  };
}

export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: start the tests with \`cargo xtask test\``);
  return value;
}

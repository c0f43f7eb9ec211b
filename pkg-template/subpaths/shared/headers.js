// Request headers that nobody but the host and what leads to a server may set: they decide where a request goes, how its body is
// cut, or where it seems to come from.

export const RESERVED_HEADERS = [
  "host",
  "connection",
  "transfer-encoding",
  "content-length",
  "proxy-authorization",
  "forwarded",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-port",
  "x-original-url",
  "x-rewrite-url",
];

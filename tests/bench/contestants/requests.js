// The requests of the contestants that have no client.

export const LAST = 2;

export function headersOf(target, type) {
  const headers = { "e2b-sandbox-id": target.sandboxId, "e2b-sandbox-port": "49983", "x-access-token": target.token };
  return type ? { ...headers, "content-type": type } : headers;
}

/** Starts a command as a shell would, with messages in binary. */
export async function start(target, command) {
  const words = ["/bin/bash", "-l", "-c", command].map((word) => new TextEncoder().encode(word));
  const process = field(1, words.flatMap((word, index) => field(index === 0 ? 1 : 2, word)));
  const message = [...process, 4 << 3, 0];
  const body = Uint8Array.from([0, message.length >>> 24, message.length >>> 16, message.length >>> 8, message.length, ...message]);
  const headers = { ...headersOf(target, "application/connect+proto"), "connect-protocol-version": "1" };
  const response = await fetch(`${target.url}/process.Process/Start`, { method: "POST", headers, body });
  if (!response.ok) throw await failure(response);
  return response;
}

export const failure = async (response) => new Error(`${response.status}: ${await response.text()}`);

function field(number, bytes) {
  const length = [];
  let left = bytes.length;
  for (; left >= 0x80; left >>>= 7) length.push((left & 0x7f) | 0x80);
  return [(number << 3) | 2, ...length, left, ...bytes];
}

// Bytes as the text that the server wants them in, and back.

import { ProtocolError } from "#package";
import { kind, wrong } from "./check.js";

const STEP = 0x8000;

export function toBase64(bytes) {
  if (typeof bytes.toBase64 === "function") return bytes.toBase64();
  let binary = "";
  for (let i = 0; i < bytes.length; i += STEP) binary += String.fromCharCode(...bytes.subarray(i, i + STEP));
  return btoa(binary);
}

export function fromBase64(text) {
  let binary;
  try {
    binary = atob(text);
  } catch (cause) {
    throw new ProtocolError("The server sent content that is not base64", { code: "protocol_error", cause });
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Bytes of whatever callers have. `Blob` and buffers are recognised by shape: frameworks swap globals. */
export async function bytesOf(data, name) {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (Object.prototype.toString.call(data) === "[object ArrayBuffer]") return new Uint8Array(data);
  if (typeof data?.arrayBuffer === "function") return new Uint8Array(await data.arrayBuffer());
  throw wrong(`${name} must be a string, a Uint8Array, an ArrayBuffer or a Blob, not ${kind(data)}`);
}

// What a template's build says while it runs.

/** Escape sequences of terminals: colours, cursor movements, titles. */
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

const LEVELS = ["debug", "info", "warn", "error"];

export class LogEntry {
  constructor(timestamp, level, message) {
    this.timestamp = timestamp;
    this.level = level;
    this.message = String(message).replace(ESCAPES, "");
  }

  toString() {
    return `[${this.timestamp.toISOString()}] [${this.level}] ${this.message}`;
  }
}

export class LogEntryStart extends LogEntry {
  constructor(timestamp, message) {
    super(timestamp, "debug", message);
  }
}

export class LogEntryEnd extends LogEntry {
  constructor(timestamp, message) {
    super(timestamp, "debug", message);
  }
}

export function defaultBuildLogger({ minLevel = "info" } = {}) {
  let started;
  return (entry) => {
    started ??= entry.timestamp;
    if (LEVELS.indexOf(entry.level) < LEVELS.indexOf(minLevel)) return;
    const seconds = Math.max(0, (entry.timestamp - started) / 1000).toFixed(1);
    console.log(`${seconds.padStart(7)}s  ${entry.level.padEnd(5)}  ${entry.message}`);
  };
}

/** An entry of the server's. A level that is newer than this package counts as information. */
export function readEntry(entry) {
  const level = LEVELS.includes(entry?.level) ? entry.level : "info";
  return new LogEntry(new Date(entry?.timestamp ?? Date.now()), level, entry?.message ?? "");
}

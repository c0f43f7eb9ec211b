// What running code answers with. These are ordinary JavaScript classes: `instanceof` works, and no WebAssembly memory is held
// by a result that somebody keeps.

/** What kind of plot a chart shows. */
export const ChartType = Object.freeze({
  LINE: "line",
  SCATTER: "scatter",
  BAR: "bar",
  PIE: "pie",
  BOX_AND_WHISKER: "box_and_whisker",
  SUPERCHART: "superchart",
  UNKNOWN: "unknown",
});

/** How values are laid out along an axis. */
export const ScaleType = Object.freeze({
  LINEAR: "linear",
  DATETIME: "datetime",
  CATEGORICAL: "categorical",
  LOG: "log",
  SYMLOG: "symlog",
  LOGIT: "logit",
  FUNCTION: "function",
  FUNCTIONLOG: "functionlog",
  ASINH: "asinh",
  UNKNOWN: "unknown",
});

export class OutputMessage {
  constructor(line, timestamp, error) {
    this.line = line;
    this.timestamp = timestamp;
    this.error = error;
  }

  get time() {
    return new Date(this.timestamp / 1e6);
  }

  toString() {
    return this.line;
  }
}

export class ExecutionError {
  constructor(name, value, traceback) {
    this.name = name;
    this.value = value;
    this.traceback = traceback;
  }

  toString() {
    return this.name === "" ? this.value : `${this.name}: ${this.value}`;
  }
}

/** The formats that are text, in the order of `formats()`; `json` has its place between `latex` and `javascript`. */
const TEXTS = ["text", "html", "markdown", "svg", "png", "jpeg", "pdf", "latex", "javascript"];
const FORMATS = ["text", "html", "markdown", "svg", "png", "jpeg", "pdf", "latex", "json", "javascript", "data", "chart"];

/** The formats that are files, with their media types. All but `svg` are base64. */
const FILES = { svg: "image/svg+xml", png: "image/png", jpeg: "image/jpeg", pdf: "application/pdf" };

export class Result {
  constructor(rawData, isMainResult = false) {
    const { type, is_main_result, ...raw } = rawData;
    for (const name of TEXTS) this[name] = typeof raw[name] === "string" ? raw[name] : undefined;
    this.json = raw.json ?? undefined;
    this.data = filled(raw.data);
    this.chart = readChart(raw.chart);
    this.extra = filled(raw.extra);
    this.isMainResult = isMainResult;
    // Not enumerable, so that printing a result does not show everything twice.
    Object.defineProperty(this, "raw", { value: raw });
  }

  formats() {
    const usual = FORMATS.filter((name) => this[name] !== undefined && this[name] !== "");
    return [...usual, ...Object.keys(this.extra ?? {})];
  }

  toBlob(format) {
    const type = FILES[format];
    const content = this[format];
    if (type === undefined || content === undefined) return undefined;
    // `atob` skips the line feeds that some kernels put into base64.
    const bytes = format === "svg" ? content : Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
    return new Blob([bytes], { type });
  }

  toString() {
    return this.text ?? `Result(${this.formats().join(", ")})`;
  }

  toJSON() {
    const json = { isMainResult: this.isMainResult };
    for (const name of [...FORMATS, "extra"]) if (this[name] !== undefined) json[name] = this[name];
    return json;
  }
}

export class Execution {
  constructor(results = [], logs = { stdout: [], stderr: [] }, error = undefined, executionCount = undefined) {
    this.results = results;
    this.logs = logs;
    this.error = error;
    this.executionCount = executionCount;
  }

  get text() {
    return this.results.find((result) => result.isMainResult)?.text;
  }

  toJSON() {
    const { results, logs, error, executionCount } = this;
    return { results, logs, error, executionCount };
  }
}

/** An object that is not empty. */
function filled(value) {
  return isObject(value) && Object.keys(value).length > 0 ? value : undefined;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const AXES = ["x_label", "y_label", "x_unit", "y_unit"];
const TICKS = ["x_ticks", "x_tick_labels", "y_ticks", "y_tick_labels"];
const SCALES = new Set(Object.values(ScaleType));

/** What a chart of each type and its elements must have. */
const PARTS = {
  line: [AXES, TICKS, ["label", "points"]],
  scatter: [AXES, TICKS, ["label", "points"]],
  bar: [AXES, [], ["label", "group", "value"]],
  pie: [[], [], ["label", "angle", "radius"]],
  box_and_whisker: [AXES, [], ["label", "min", "first_quartile", "median", "third_quartile", "max"]],
};

/** A chart whose members fit its type; undefined for one that lacks some. Other members, and types that are newer, are kept. */
function readChart(raw) {
  if (!isObject(raw) || !Array.isArray(raw.elements) || !("title" in raw)) return undefined;
  const type = typeof raw.type === "string" && raw.type !== "" ? raw.type : ChartType.UNKNOWN;
  if (type === ChartType.SUPERCHART) {
    const elements = raw.elements.map(readChart);
    return elements.includes(undefined) ? undefined : { ...raw, type, elements };
  }
  if (!Object.hasOwn(PARTS, type)) return { ...raw, type };
  const [axes, ticks, parts] = PARTS[type];
  const fits =
    axes.every((name) => name in raw) &&
    ticks.every((name) => Array.isArray(raw[name])) &&
    raw.elements.every((element) => isObject(element) && parts.every((name) => name in element)) &&
    (ticks.length === 0 || raw.elements.every(({ points }) => Array.isArray(points) && points.every(isPoint)));
  if (!fits) return undefined;
  const chart = { ...raw, type };
  if (ticks.length > 0) {
    for (const name of ["x_scale", "y_scale"]) if (!SCALES.has(raw[name])) chart[name] = ScaleType.UNKNOWN;
  }
  if (type === ChartType.BOX_AND_WHISKER) {
    chart.elements = raw.elements.map((element) => ({ ...element, outliers: element.outliers ?? [] }));
  }
  return chart;
}

function isPoint(point) {
  return Array.isArray(point) && point.length === 2;
}

// The rest is called by the WebAssembly side while a run goes on. What `keep` forbids is handed on and forgotten.

export function createExecution() {
  return new Execution();
}

export function addOutput(execution, keep, text, timestamp, isError) {
  if (keep) execution.logs[isError ? "stderr" : "stdout"].push(text);
  return new OutputMessage(text, timestamp, isError);
}

/**
 * `line` is the whole line of a result: the host's parser is the fastest way to an image of megabytes. Throws when it is no
 * JSON.
 */
export function addResult(execution, keep, line) {
  const raw = JSON.parse(line);
  const result = new Result(raw, raw.is_main_result === true);
  if (keep) execution.results.push(result);
  return result;
}

export function setError(execution, name, value, traceback) {
  return (execution.error = new ExecutionError(name, value, traceback));
}

export function setCount(execution, count) {
  execution.executionCount = count;
}

/** Text that code wrote: any piece of the stream, which may be half a line or several lines. */
export class OutputMessage {
    constructor(line: string, timestamp: number, error: boolean);
    /** The text, with its line ends. */
    readonly line: string;
    /** When the kernel wrote it, in nanoseconds since the epoch; `NaN` when the server does not say. */
    readonly timestamp: number;
    /** Whether it was written to standard error. */
    readonly error: boolean;
    /** The same as `timestamp`. */
    get time(): Date;
    /** The text. */
    toString(): string;
}

/** How code failed. It is an outcome of the code, not of the call: `runCode` does not reject with it. */
export class ExecutionError {
    constructor(name: string, value: string, traceback: string);
    /** The class of the exception, such as `ZeroDivisionError`. Empty for a shell command, whose `value` is its exit status. */
    readonly name: string;
    readonly value: string;
    readonly traceback: string;
    /** `name: value`. */
    toString(): string;
}

/** The name of a format: one of the properties of a `Result`, or a MIME type of its `extra`. */
export type MIMEType = string;

/** A result as the server sent it. */
export type RawData = { [format: MIMEType]: unknown };

/** The value of the last expression, or something that was displayed on the way, in all formats that its kernel made. */
export class Result {
    constructor(rawData: RawData, isMainResult?: boolean);
    readonly text?: string | undefined;
    readonly html?: string | undefined;
    readonly markdown?: string | undefined;
    readonly svg?: string | undefined;
    /** Base64, possibly with a line feed at the end; `toBlob("png")` decodes it. */
    readonly png?: string | undefined;
    /** Base64, as `png`. */
    readonly jpeg?: string | undefined;
    /** Base64, as `png`. */
    readonly pdf?: string | undefined;
    readonly latex?: string | undefined;
    /** Any JSON value but null. */
    readonly json?: unknown;
    readonly javascript?: string | undefined;
    /** A table: column name → values. */
    readonly data?: Record<string, unknown> | undefined;
    /** What a plot shows. Undefined when it was malformed, too: then only `raw` has it. */
    readonly chart?: ChartTypes | undefined;
    /** Formats without a property of their own, by MIME type. */
    readonly extra?: Record<string, unknown> | undefined;
    /** Whether it is the value of the last expression. At most one result of an execution is. */
    readonly isMainResult: boolean;
    /** Everything as the server sent it. */
    readonly raw: RawData;
    /** The names of the formats that are there and not empty: properties first, then MIME types of `extra`. */
    formats(): MIMEType[];
    /** An image or document as a file; undefined when the result does not have it. */
    toBlob(format: "svg" | "png" | "jpeg" | "pdf"): Blob | undefined;
    /** The text, or the names of the formats of a result without text. */
    toString(): string;
    /** All formats, `extra` and `isMainResult`. */
    toJSON(): Record<string, unknown>;
}

/** What was written, piece by piece as it came: the text of the `OutputMessage`s. */
export interface Logs {
    stdout: string[];
    stderr: string[];
}

/** What running code came to. */
export class Execution {
    constructor(results?: Result[], logs?: Logs, error?: ExecutionError, executionCount?: number);
    /** What was displayed, and the value of the last expression, in order. */
    results: Result[];
    logs: Logs;
    /** How the code failed; undefined when it did not. */
    error?: ExecutionError | undefined;
    /** The number of the run in its context, where the kernel counts. */
    executionCount?: number | undefined;
    /** The text of the main result. */
    get text(): string | undefined;
    /** `results`, `logs`, `error` and `executionCount`. */
    toJSON(): { results: Result[]; logs: Logs; error: ExecutionError | undefined; executionCount: number | undefined };
}

/** What happens while code runs. */
export type ExecutionEvent =
    | { type: "stdout" | "stderr"; data: OutputMessage }
    | { type: "result"; data: Result }
    | { type: "error"; data: ExecutionError }
    | { type: "executionCount"; data: number };

/** What kind of plot a chart shows. */
export const ChartType: {
    readonly LINE: "line";
    readonly SCATTER: "scatter";
    readonly BAR: "bar";
    readonly PIE: "pie";
    readonly BOX_AND_WHISKER: "box_and_whisker";
    readonly SUPERCHART: "superchart";
    readonly UNKNOWN: "unknown";
};
export type ChartType = (typeof ChartType)[keyof typeof ChartType];

/** How values are laid out along an axis. A scale that is newer than this package is `UNKNOWN`. */
export const ScaleType: {
    readonly LINEAR: "linear";
    readonly DATETIME: "datetime";
    readonly CATEGORICAL: "categorical";
    readonly LOG: "log";
    readonly SYMLOG: "symlog";
    readonly LOGIT: "logit";
    readonly FUNCTION: "function";
    readonly FUNCTIONLOG: "functionlog";
    readonly ASINH: "asinh";
    readonly UNKNOWN: "unknown";
};
export type ScaleType = (typeof ScaleType)[keyof typeof ScaleType];

/** What every chart has. Names are those of the server. */
export interface Chart {
    type: ChartType;
    title: string | null;
    elements: unknown[];
}

/** A chart with two axes. */
export interface Chart2D extends Chart {
    x_label: string | null;
    y_label: string | null;
    x_unit: string | null;
    y_unit: string | null;
}

/** A chart of points. A tick is a number, or a time as ISO text. */
export interface PointChart extends Chart2D {
    x_ticks: (number | string)[];
    x_tick_labels: string[];
    x_scale: ScaleType;
    y_ticks: (number | string)[];
    y_tick_labels: string[];
    y_scale: ScaleType;
    elements: PointData[];
}

/** Points with a label. A coordinate is text on categorical axes and axes of time. */
export interface PointData {
    label: string;
    points: [number | string, number | string][];
}

export interface LineChart extends PointChart {
    type: "line";
}

export interface ScatterChart extends PointChart {
    type: "scatter";
}

export interface BarData {
    label: string;
    group: string;
    value: number | string;
}

export interface BarChart extends Chart2D {
    type: "bar";
    elements: BarData[];
}

export interface PieData {
    label: string;
    /** Degrees. */
    angle: number;
    radius: number;
}

export interface PieChart extends Chart {
    type: "pie";
    elements: PieData[];
}

export interface BoxAndWhiskerData {
    label: string;
    min: number;
    first_quartile: number;
    median: number;
    third_quartile: number;
    max: number;
    outliers: number[];
}

export interface BoxAndWhiskerChart extends Chart2D {
    type: "box_and_whisker";
    elements: BoxAndWhiskerData[];
}

/** A figure of several charts: one for each axes. */
export interface SuperChart extends Chart {
    type: "superchart";
    elements: ChartTypes[];
}

/** A plot that was not recognised. A type that is newer than this package keeps its name at run time. */
export interface UnknownChart extends Chart {
    type: "unknown";
}

/** A chart of any type; `type` tells which. */
export type ChartTypes =
    | LineChart
    | ScatterChart
    | BarChart
    | PieChart
    | BoxAndWhiskerChart
    | SuperChart
    | UnknownChart;

// Paths in the sandbox.

/** The directory that holds `path`. */
export const parentOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

/** The last part of `path`. */
export const nameOf = (path) => path.slice(path.lastIndexOf("/") + 1) || "/";

/** A path below a directory. */
export const within = (directory, name) => `${directory === "/" ? "" : directory}/${name}`;

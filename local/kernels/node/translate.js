// From what people write to what a script may contain: types are removed, imports become `require`, and `await` works
// outside of functions.

"use strict";

const acorn = require("acorn");
const { transform } = require("sucrase");

function parse(code) {
  try {
    return acorn.parse(code, { ecmaVersion: "latest", sourceType: "script", allowAwaitOutsideFunction: true });
  } catch {
    return null;
  }
}

/** The script for `code`; code that is wrong comes back as it is, so that the error is the engine's own. */
function translate(code) {
  let script = code;
  let program = parse(script);
  if (!program) {
    try {
      const options = { transforms: ["typescript", "imports"], keepUnusedImports: true, disableESTransforms: true };
      script = transform(code, options).code;
    } catch {
      return code;
    }
    // Not wanted: the code of one run is in the mode of the others.
    script = script.replace(/^"use strict";/, "");
    program = parse(script);
    if (!program) return code;
  }
  return program.body.some(awaits) ? inFunction(script, program) : script;
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Whether `await` stands somewhere in `node` outside of the functions in it. */
function awaits(node) {
  if (!node || typeof node !== "object") return false;
  if (Array.isArray(node)) return node.some(awaits);
  if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await)) return true;
  if (FUNCTIONS.has(node.type)) return false;
  return Object.keys(node).some((key) => key !== "type" && awaits(node[key]));
}

/** Wraps the program into an asynchronous function. What it declares stays visible to later runs. */
function inFunction(script, program) {
  const text = (node) => script.slice(node.start, node.end);
  const names = [];
  const functions = [];
  const statements = program.body.map((node, index) => {
    switch (node.type) {
      case "VariableDeclaration":
        for (const { id } of node.declarations) namesIn(id, names);
        return `void (${node.declarations.map((one) => `(${text(one.id)} = ${one.init ? text(one.init) : "undefined"})`).join(", ")});`;
      case "FunctionDeclaration":
        functions.push(`globalThis.${node.id.name} = ${node.id.name};`);
        return text(node);
      case "ClassDeclaration":
        names.push(node.id.name);
        return `${node.id.name} = ${text(node)};`;
      case "ExpressionStatement":
        return index === program.body.length - 1 ? `return (${text(node.expression)});` : text(node);
      default:
        return text(node);
    }
  });
  // What is between the statements is kept, so that line numbers stay true.
  let end = 0;
  const body = program.body.map((node, index) => {
    const between = script.slice(end, node.start);
    end = node.end;
    return `${between};${statements[index]}`;
  });
  const declared = names.length ? `var ${names.join(", ")}; ` : "";
  return `${declared}(async () => { ${functions.join(" ")}${body.join("")}\n})()`;
}

/** The names that a pattern declares. */
function namesIn(pattern, names) {
  switch (pattern?.type) {
    case "Identifier":
      names.push(pattern.name);
      break;
    case "ObjectPattern":
      for (const property of pattern.properties) namesIn(property.value ?? property.argument, names);
      break;
    case "ArrayPattern":
      for (const element of pattern.elements) namesIn(element, names);
      break;
    case "AssignmentPattern":
      namesIn(pattern.left, names);
      break;
    case "RestElement":
      namesIn(pattern.argument, names);
  }
}

module.exports = { translate };

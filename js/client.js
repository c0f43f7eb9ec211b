// Clients with options of their own, so that one program can use several keys or servers.

import { merged } from "./connection.js";
import { Sandbox } from "./core_bg.js";
import { invalid } from "./options.js";
import { STATICS } from "./sandbox.js";
import { Secret, STATICS as SECRET_STATICS } from "./secret.js";
import { Template, STATICS as TEMPLATE_STATICS } from "./template.js";
import { Volume, STATICS as VOLUME_STATICS } from "./volume.js";

/** The classes of a client, each with its static methods and which of their arguments has the options. */
const CLASSES = {
  Sandbox: [Sandbox, STATICS],
  Volume: [Volume, VOLUME_STATICS],
  Template: [Template, TEMPLATE_STATICS],
  Secret: [Secret, SECRET_STATICS],
};

export class E2B {
  constructor(opts = {}) {
    if (typeof opts !== "object" || opts === null) throw invalid("The options of E2B must be an object");
    if (opts.signal !== undefined) {
      throw invalid("Option signal of E2B belongs to single calls: pass it to each");
    }
    const defaults = { ...opts };
    for (const [name, [type, statics]] of Object.entries(CLASSES)) {
      Object.defineProperty(this, name, { value: bound(type, statics, defaults), enumerable: true });
    }
  }
}

/** A subclass of `type` whose static methods have `defaults`. It can be called where `type` can. */
function bound(type, statics, defaults) {
  const subclass = function (...args) {
    return new.target ? Reflect.construct(type, args, new.target) : type(...args);
  };
  Object.setPrototypeOf(subclass, type);
  subclass.prototype = Object.create(type.prototype, { constructor: { value: subclass, configurable: true, writable: true } });
  Object.defineProperty(subclass, "name", { value: type.name, configurable: true });
  for (const [name, position] of Object.entries(statics)) {
    const value = function (...args) {
      const at = typeof position === "function" ? position(args) : position;
      args[at] = merged(defaults, args[at]);
      return type[name].apply(this, args);
    };
    Object.defineProperty(subclass, name, { value, configurable: true, writable: true });
  }
  return subclass;
}

// The same package for programs written against a code interpreter client: sandboxes are made from a template with kernels
// unless another one is named. `#package` stands for the entry that fits the host, so that there is one core whatever is
// imported.

import { E2B as BaseClient, Sandbox as Base } from "#package";

export * from "#package";

const TEMPLATE = "code-interpreter-v1";

/** What `Sandbox.create` is called with, with the template filled in. */
function withTemplate(template, opts) {
  if (typeof template === "string") return [template, opts];
  const given = template ?? opts;
  return [{ ...given, template: given?.template ?? TEMPLATE }];
}

export class Sandbox extends Base {
  static create(template, opts) {
    return super.create(...withTemplate(template, opts));
  }
}

export class E2B extends BaseClient {
  constructor(opts) {
    // An option of `create` like any other, which the first argument of a call replaces.
    super(typeof opts === "object" ? { template: TEMPLATE, ...opts } : (opts ?? { template: TEMPLATE }));
  }
}

export default Sandbox;

// `Template`: describes a sandbox template step by step, and has it built.

import { optionalText, options as read, text, texts, whole } from "./arguments.js";
import { BuildError, UnsupportedError } from "./errors.js";
import { invalid } from "./options.js";
import * as building from "./template-build.js";
import { readDockerfile, writeDockerfile } from "./template-dockerfile.js";
import { TemplateFiles, checkSource } from "./template-files.js";
import { ReadyCmd, quote } from "./template-ready.js";

export { LogEntry, LogEntryEnd, LogEntryStart, defaultBuildLogger } from "./template-log.js";
export { ReadyCmd, waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForURL } from "./template-ready.js";

/** The build calls say a name, or have it among their options. */
const afterName = (args) => (typeof args[1] === "string" ? 2 : 1);

/** The static methods that take options of connections, and which of the arguments has them. */
export const STATICS = {
  build: afterName,
  buildInBackground: afterName,
  getBuildStatus: 1,
  streamBuildStatus: 1,
  streamBuildLogs: 1,
  exists: 1,
  aliasExists: 1,
  assignTags: 2,
  removeTags: 2,
  getTags: 1,
};

/** What the builder methods have gathered, for those who read it; set by the class, which alone can see it. */
let planOf;

export class TemplateBase {
  #plan;
  #force = false;

  static {
    planOf = (template, owner) => {
      if (typeof template === "object" && template !== null && #plan in template) return template.#plan;
      throw invalid(`The template of ${owner} must be one that Template() began`);
    };
  }

  constructor(options) {
    const { files, fileIgnorePatterns, fileContextPath } = read(options, "Template");
    if (fileContextPath !== undefined) {
      throw new UnsupportedError(
        "Option fileContextPath of Template needs a file system. Give the files themselves: Template({ files: { path: data } })",
        { code: "unsupported" },
      );
    }
    const ignored = fileIgnorePatterns === undefined ? [] : fileIgnorePatterns;
    if (!Array.isArray(ignored) || ignored.some((pattern) => typeof pattern !== "string")) {
      throw invalid("Option fileIgnorePatterns of Template must be a list of texts");
    }
    this.#plan = {
      base: { fromImage: "e2bdev/base" },
      steps: [],
      force: false,
      startCmd: undefined,
      readyCmd: undefined,
      files: new TemplateFiles(read(files, "Template, files,"), ignored),
    };
  }

  // What it is made from.

  fromImage(image, credentials) {
    const { username, password } = read(credentials, "fromImage");
    const name = text(image, "image of fromImage");
    if ((username === undefined) !== (password === undefined)) {
      throw invalid("The credentials of fromImage need both username and password, or neither");
    }
    if (username === undefined) return this.#from({ fromImage: name });
    const registry = { type: "registry", username: text(username, "username of fromImage"), password: text(password, "password of fromImage") };
    return this.#from({ fromImage: name, fromImageRegistry: registry });
  }

  fromAWSRegistry(image, credentials) {
    const { accessKeyId, secretAccessKey, region } = read(credentials, "fromAWSRegistry");
    const registry = {
      type: "aws",
      awsAccessKeyId: text(accessKeyId, "accessKeyId of fromAWSRegistry"),
      awsSecretAccessKey: text(secretAccessKey, "secretAccessKey of fromAWSRegistry"),
      awsRegion: text(region, "region of fromAWSRegistry"),
    };
    return this.#from({ fromImage: text(image, "image of fromAWSRegistry"), fromImageRegistry: registry });
  }

  fromGCPRegistry(image, credentials) {
    const { serviceAccountJSON: account } = read(credentials, "fromGCPRegistry");
    const isObject = typeof account === "object" && account !== null;
    const serviceAccountJson = isObject ? JSON.stringify(account) : text(account, "serviceAccountJSON of fromGCPRegistry");
    return this.#from({ fromImage: text(image, "image of fromGCPRegistry"), fromImageRegistry: { type: "gcp", serviceAccountJson } });
  }

  fromDebianImage(variant = "stable") {
    return this.fromImage(`debian:${variant}`);
  }

  fromUbuntuImage(variant = "latest") {
    return this.fromImage(`ubuntu:${variant}`);
  }

  fromFedoraImage(variant = "latest") {
    return this.fromImage(`fedora:${variant}`);
  }

  fromAlpineImage(variant = "latest") {
    return this.fromImage(`alpine:${variant}`);
  }

  fromArchImage(variant = "latest") {
    return this.fromImage(`archlinux:${variant}`);
  }

  fromPythonImage(version = "3") {
    return this.fromImage(`python:${version}`);
  }

  fromNodeImage(variant = "lts") {
    return this.fromImage(`node:${variant}`);
  }

  fromBunImage(variant = "latest") {
    return this.fromImage(`oven/bun:${variant}`);
  }

  fromBaseImage() {
    return this.fromImage("e2bdev/base");
  }

  fromTemplate(template) {
    return this.#from({ fromTemplate: text(template, "template of fromTemplate") });
  }

  fromDockerfile(content) {
    readDockerfile(text(content, "content of fromDockerfile"), this);
    return this;
  }

  #from(base) {
    this.#plan.base = base;
    // Asked for before there is anything to build on, it is about everything.
    if (this.#force && this.#plan.steps.length === 0) this.#plan.force = true;
    return this;
  }

  skipCache() {
    this.#force = true;
    return this;
  }

  // What is done in it.

  copy(src, dest, options) {
    const { user, mode, forceUpload, gzip } = read(options, "copy");
    const target = text(dest, "dest of copy");
    const owner = optionalText(user, "Option user of copy") ?? "";
    const bits = mode === undefined ? "" : octal(mode, "copy");
    for (const source of texts(src, "src of copy")) {
      checkSource(source);
      this.#step("COPY", [source, target, owner, bits], { forceUpload: forceUpload === true, gzip });
    }
    return this;
  }

  copyItems(items) {
    if (!Array.isArray(items)) throw invalid("The items of copyItems must be a list of { src, dest }");
    for (const item of items) this.copy(item?.src, item?.dest, item);
    return this;
  }

  runCmd(command, options) {
    const { user } = read(options, "runCmd");
    return this.#run(texts(command, "command of runCmd").join(" && "), optionalText(user, "Option user of runCmd"));
  }

  remove(path, options) {
    const { force, recursive, user } = read(options, "remove");
    return this.#shell(["rm", recursive && "-r", force && "-f"], texts(path, "path of remove"), user);
  }

  rename(src, dest, options) {
    const { force, user } = read(options, "rename");
    return this.#shell(["mv"], [text(src, "src of rename"), text(dest, "dest of rename")], user, [force && "-f"]);
  }

  makeDir(path, options) {
    const { mode, user } = read(options, "makeDir");
    const flags = mode === undefined ? [] : ["-m", octal(mode, "makeDir")];
    return this.#shell(["mkdir", "-p", ...flags], texts(path, "path of makeDir"), user);
  }

  makeSymlink(src, dest, options) {
    const { force, user } = read(options, "makeSymlink");
    return this.#shell(["ln", "-s", force && "-f"], [text(src, "src of makeSymlink"), text(dest, "dest of makeSymlink")], user);
  }

  setWorkdir(workdir) {
    return this.#step("WORKDIR", [text(workdir, "workdir of setWorkdir")]);
  }

  setUser(user) {
    return this.#step("USER", [text(user, "user of setUser")]);
  }

  setEnvs(envs) {
    const args = [];
    for (const [name, value] of Object.entries(read(envs, "setEnvs"))) {
      if (typeof value !== "string") throw invalid(`The variable ${name} of setEnvs must be a text`);
      args.push(name, value);
    }
    return args.length === 0 ? this : this.#step("ENV", args);
  }

  pipInstall(packages, options) {
    const { g = true } = read(options, "pipInstall");
    const list = packages === undefined ? ["."] : texts(packages, "packages of pipInstall");
    return this.#run(line("pip install", !g && "--user", ...list), g ? "root" : undefined);
  }

  npmInstall(packages, options) {
    return this.#install("npm install", "--save-dev", packages, options, "npmInstall");
  }

  bunInstall(packages, options) {
    return this.#install("bun install", "--dev", packages, options, "bunInstall");
  }

  #install(command, devFlag, packages, options, owner) {
    const { g = false, dev = false } = read(options, owner);
    const list = packages === undefined ? [] : texts(packages, `packages of ${owner}`);
    return this.#run(line(command, g && "-g", dev && devFlag, ...list), g ? "root" : undefined);
  }

  aptInstall(packages, options) {
    const { noInstallRecommends, fixMissing } = read(options, "aptInstall");
    const flags = [noInstallRecommends && "--no-install-recommends", fixMissing && "--fix-missing"];
    const install = line("apt-get install -y", ...flags, ...texts(packages, "packages of aptInstall"));
    return this.#run(`apt-get update && DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes ${install}`, "root");
  }

  gitClone(url, path, options) {
    const { branch, depth, user } = read(options, "gitClone");
    const words = ["git clone", quote(text(url, "url of gitClone"))];
    if (branch !== undefined) words.push("--branch", quote(text(branch, "Option branch of gitClone")), "--single-branch");
    if (depth !== undefined) words.push("--depth", whole(depth, "Option depth of gitClone", 1));
    if (path !== undefined) words.push(quote(text(path, "path of gitClone")));
    return this.#run(line(...words), optionalText(user, "Option user of gitClone"));
  }

  addMcpServer(servers) {
    this.#needs("mcp-gateway", "addMcpServer");
    return this.#run(line("mcp-gateway pull", ...texts(servers, "servers of addMcpServer")), "root");
  }

  betaDevContainerPrebuild(directory) {
    this.#needs("devcontainer", "betaDevContainerPrebuild");
    const folder = quote(text(directory, "directory of betaDevContainerPrebuild"));
    return this.#run(`devcontainer build --workspace-folder ${folder}`, "root");
  }

  betaSetDevContainerStart(directory) {
    this.#needs("devcontainer", "betaSetDevContainerStart");
    const folder = quote(text(directory, "directory of betaSetDevContainerStart"));
    const script = "/devcontainer.sh";
    const command = [
      `sudo devcontainer up --workspace-folder ${folder}`,
      `sudo /prepare-exec.sh ${folder} | sudo tee ${script} > /dev/null`,
      `sudo chmod +x ${script}`,
      "sudo touch /devcontainer.up",
    ];
    return this.setStartCmd(command.join(" && "), "[ -f /devcontainer.up ]");
  }

  // What runs in it.

  setStartCmd(startCommand, readyCommand) {
    this.#plan.startCmd = text(startCommand, "startCommand of setStartCmd");
    return this.setReadyCmd(readyCommand);
  }

  setReadyCmd(readyCommand) {
    const command = readyCommand instanceof ReadyCmd ? readyCommand.getCmd() : readyCommand;
    this.#plan.readyCmd = text(command, "readyCommand");
    return this;
  }

  #step(type, args, more) {
    this.#plan.steps.push({ type, args, force: this.#force, ...more });
    return this;
  }

  #run(command, user) {
    return this.#step("RUN", user === undefined ? [command] : [command, user]);
  }

  /** A command whose `words` need no quotes, and whose `paths` may. */
  #shell(words, paths, user, after = []) {
    return this.#run(line(...words, ...paths.map(quote), ...after), optionalText(user, "Option user"));
  }

  #needs(template, owner) {
    if (this.#plan.base.fromTemplate === template) return;
    throw new BuildError(`${owner} needs fromTemplate(${JSON.stringify(template)})`, { code: "invalid_argument" });
  }

  static async toJSON(template, computeHashes = true) {
    return JSON.stringify(await building.describe(planOf(template, "Template.toJSON"), computeHashes), undefined, 2);
  }

  static toDockerfile(template) {
    return writeDockerfile(planOf(template, "Template.toDockerfile"));
  }

  static async build(template, name, options) {
    return building.build(planOf(template, "Template.build"), name, options);
  }

  static async buildInBackground(template, name, options) {
    return building.buildInBackground(planOf(template, "Template.buildInBackground"), name, options);
  }

  static async getBuildStatus(build, options) {
    return building.getBuildStatus(build, options);
  }

  static streamBuildStatus(build, options) {
    return building.streamBuildStatus(build, options);
  }

  static streamBuildLogs(build, options) {
    return building.streamBuildLogs(build, options);
  }

  static async exists(name, options) {
    return building.aliasExists(name, options);
  }

  static async aliasExists(alias, options) {
    return building.aliasExists(alias, options);
  }

  static async assignTags(targetName, tags, options) {
    return building.assignTags(targetName, tags, options);
  }

  static async removeTags(name, tags, options) {
    return building.removeTags(name, tags, options);
  }

  static async getTags(templateId, options) {
    return building.getTags(templateId, options);
  }
}

/** A class that can be called without `new`. */
function callable(type) {
  function Template(options) {
    return new type(options);
  }
  Template.prototype = type.prototype;
  return Object.setPrototypeOf(Template, type);
}

export const Template = /* @__PURE__ */ callable(TemplateBase);

/** Words with spaces between them, without those that are not there. */
function line(...words) {
  return words.filter((word) => word !== undefined && word !== false).join(" ");
}

function octal(mode, owner) {
  const bits = whole(mode, `Option mode of ${owner}`, 0);
  if (bits > 0o7777) throw invalid(`Option mode of ${owner} must be permission bits such as 0o755`);
  return bits.toString(8).padStart(4, "0");
}

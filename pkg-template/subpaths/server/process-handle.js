// One process in the background. Only its pid and the questions that are asked about it; nothing runs by itself.

export class ServerProcess {
  #processes;

  constructor(processes, { pid, command }) {
    this.#processes = processes;
    this.pid = pid;
    this.command = command;
  }

  info(opts) {
    return this.#processes.get(this.pid, opts);
  }

  sendStdin(data, opts) {
    return this.#processes.sendStdin(this.pid, data, opts);
  }

  closeStdin(opts) {
    return this.#processes.closeStdin(this.pid, opts);
  }

  output(opts) {
    return this.#processes.output(this.pid, opts);
  }

  follow(opts) {
    return this.#processes.follow(this.pid, opts);
  }

  wait(opts) {
    return this.#processes.wait(this.pid, opts);
  }

  signal(signal, opts) {
    return this.#processes.signal(this.pid, signal, opts);
  }

  kill(opts) {
    return this.#processes.kill(this.pid, opts);
  }

  terminate(opts) {
    return this.#processes.terminate(this.pid, opts);
  }

  [Symbol.asyncIterator]() {
    return this.follow();
  }
}

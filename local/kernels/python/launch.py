"""Starts a kernel on a connection file: `launch.py CONNECTION_FILE python|bash`.

The kernels are ipykernel and bash_kernel as published. What is different here is what the code interpreter promises to
clients: plain tracebacks, long sequences in full, structured data beside the text, and output that is neither lost nor
piled up when its reader is slow.
"""

import os
import sys

import zmq
from ipykernel.iostream import OutStream
from ipykernel.kernelapp import IPKernelApp
from traitlets.config import Config

# How many characters a program may print ahead of the reader before `print` waits, and how many messages may wait in the
# socket.
AHEAD = 1 << 20
QUEUED = 64


class KernelApp(IPKernelApp):
    def _bind_socket(self, s, port):
        # A publishing socket drops messages at its limit unless told to wait. Options count from the next bind on.
        if s.type == zmq.PUB:
            s.sndhwm = QUEUED
            s.setsockopt(zmq.XPUB_NODROP, 1)
        return super()._bind_socket(s, port)


def hold_back_output():
    """Makes `print` wait for the reader: the stream's own buffer has no limit."""
    write = OutStream.write

    def bounded_write(self, string):
        written = write(self, string)
        self.ahead = getattr(self, "ahead", 0) + len(string)
        if self.ahead > AHEAD:
            self.ahead = 0
            self.flush()
        return written

    OutStream.write = bounded_write
    # Who waits longer than that would be told so in the middle of the output, and go on without waiting.
    OutStream.flush_timeout = None


def use_private_packages():
    """Lets `pip install` work although the kernel's own folder cannot be written to."""
    folder = os.path.expanduser("~/.local/lib/kernel-packages")
    os.environ.setdefault("PIP_TARGET", folder)
    sys.path.append(folder)


def main():
    connection_file, kind = sys.argv[1:]
    # The folder of this file is no place for imports.
    sys.path[0] = ""
    config = Config()
    config.InteractiveShell.colors = "NoColor"
    config.PlainTextFormatter.max_seq_length = 0
    # A history file would be written on every run and read by nobody.
    config.HistoryManager.hist_file = ":memory:"
    app = KernelApp.instance(config=config)
    if kind == "bash":
        from bash_kernel.kernel import BashKernel

        app.kernel_class = BashKernel
    hold_back_output()
    app.initialize(["-f", connection_file])
    if kind == "python":
        import formats

        use_private_packages()
        formats.install(app.shell)
    app.start()


if __name__ == "__main__":
    sys.path.insert(1, os.path.dirname(os.path.abspath(__file__)))
    main()

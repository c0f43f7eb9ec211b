// The bar that shows the sandbox's state and holds its buttons.

import { announce, byId } from "./dom.js";

const LABELS = {
  idle: "No sandbox",
  starting: "Starting…",
  ready: "Ready",
  ending: "Ending…",
  gone: "Gone",
};

const HINTS = {
  idle: "Running a command or saving a file starts one, too.",
  gone: "It was ended from elsewhere, or its time was up. Its files are gone with it.",
};

const ANNOUNCEMENTS = {
  starting: "Starting a sandbox",
  ready: "The sandbox is ready",
  gone: "The sandbox has ended",
};

export function sessionBar(session, notice) {
  const bar = byId("session");
  const [state, hint, id, left] = ["session-state", "session-hint", "session-id", "session-left"].map(byId);
  const [start, extend, end] = ["start", "extend", "end"].map(byId);
  let shown;

  const attempt = async (action) => {
    notice.clear();
    try {
      await action();
    } catch (error) {
      const shown = await session.examine(error);
      // A sandbox that turns out to be gone is announced by the change of state.
      if (session.state !== "gone") notice.show(shown, [{ label: "Try again", run: () => attempt(action) }]);
    }
  };

  start.addEventListener("click", () => attempt(() => session.start()));
  extend.addEventListener("click", () => attempt(() => session.extend()));
  end.addEventListener("click", () => attempt(() => session.end()));

  const render = () => {
    bar.dataset.state = session.state;
    state.textContent = LABELS[session.state];
    hint.textContent = HINTS[session.state] ?? "";
    id.textContent = session.id ?? "";
    id.parentElement.hidden = session.id === undefined;
    const ready = session.state === "ready";
    const focused = document.activeElement;
    start.hidden = ready || session.state === "ending";
    start.disabled = session.state === "starting";
    start.textContent = session.state === "gone" ? "Start a new sandbox" : "Start a sandbox";
    extend.hidden = end.hidden = !ready;
    // A button that vanishes must not take the focus of a keyboard user with it.
    if ([start, extend, end].includes(focused) && (focused.hidden || focused.disabled)) bar.focus();
    renderTime();
    if (shown !== session.state && ANNOUNCEMENTS[session.state]) announce(ANNOUNCEMENTS[session.state]);
    shown = session.state;
  };

  const renderTime = () => {
    left.parentElement.hidden = session.state !== "ready";
    if (session.state !== "ready") return;
    const seconds = Math.max(0, Math.round((session.endsAt - Date.now()) / 1000));
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    // Its time is up: the server says whether it is really gone.
    if (seconds === 0) session.check();
  };

  session.addEventListener("change", render);
  setInterval(renderTime, 1000);
  render();
}

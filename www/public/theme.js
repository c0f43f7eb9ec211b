// Light or dark. A classic script in the head, so that the page never shows the wrong one first.
(() => {
  const KEY = "agent-sandbox-theme";
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");

  /** What the visitor chose, or undefined. Storage may be switched off; then a choice lasts as long as the page. */
  function remembered() {
    try {
      const theme = localStorage.getItem(KEY);
      return theme === "light" || theme === "dark" ? theme : undefined;
    } catch {
      return undefined;
    }
  }

  function remember(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // See above.
    }
  }

  const chosen = remembered();
  if (chosen) root.dataset.theme = chosen;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      show();
    });
    systemDark.addEventListener("change", show);
    show();
  });
})();

/** Light, dark, or as the system wishes; the choice is kept in this browser. */

const KEY = "pilotlight-theme";
const THEMES = /** @type {const} */ (["auto", "light", "dark"]);

export function applyTheme() {
  const name = themeName();
  if (name === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = name;
}

/** @returns {typeof THEMES[number]} */
export function themeName() {
  const stored = localStorage.getItem(KEY);
  return THEMES.find((name) => name === stored) ?? "auto";
}

export function nextTheme() {
  const next = THEMES[(THEMES.indexOf(themeName()) + 1) % THEMES.length] ?? "auto";
  localStorage.setItem(KEY, next);
  applyTheme();
}

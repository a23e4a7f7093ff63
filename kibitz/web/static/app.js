// Which view an address shows.
import { look } from "./look.js";
import { play } from "./play.js";
import { runs } from "./runs.js";
import { spots } from "./spots.js";
import { problem } from "./dom.js";

const VIEWS = { look, play, spots, runs };
const main = document.getElementById("main");
let leave = null;
let current = "";
let before = "";

// An address may contain anything. Parts that cannot be decoded stay as they are and lead to an error message.
function decoded(part) { try { return decodeURIComponent(part); } catch { return part; } }

async function show() {
  const parts = location.pathname.split("/").filter(Boolean).map(decoded);
  const name = VIEWS[parts[0]] ? parts[0] : "look";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (leave && current !== name) { leave(); leave = null; main.replaceChildren(); }
  current = name;
  const place = parts.slice(0, 2).join("/");
  if (place !== before) window.scrollTo(0, 0);
  before = place;
  document.body.dataset.view = name;
  try {
    leave = (await VIEWS[name](main, parts.slice(1), new URLSearchParams(location.search))) || leave;
  } catch (error) {
    main.replaceChildren(problem(error, `/${name}`));
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-link]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  history.pushState(null, "", link.getAttribute("href"));
  show();
});
window.addEventListener("popstate", show);
window.addEventListener("kibitz:go", show);

// Light, dark, or the system default.
const THEMES = ["auto", "light", "dark"];
const button = document.getElementById("theme");
function paint(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.setAttribute("aria-label", `Colours: ${theme === "auto" ? "system default" : theme}`);
  button.title = button.getAttribute("aria-label");
}
let theme = "auto";
try { theme = localStorage.getItem("kibitz-theme") || "auto"; } catch { /* no storage: the system default */ }
paint(theme);
button.addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  try { localStorage.setItem("kibitz-theme", theme); } catch { /* no storage: kept until the page is closed */ }
  paint(theme);
});

show();

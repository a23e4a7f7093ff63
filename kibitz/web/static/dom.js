// What all views share: elements, requests, formatted numbers, cards, and charts of probabilities.

export function h(tag, props, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "vars") for (const [name, x] of Object.entries(value)) made.style.setProperty(name, x);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function svg(tag, props, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(props || {})) if (value !== null && value !== undefined) made.setAttribute(key, value);
  made.append(...children.flat(4).filter((child) => child !== null && child !== undefined));
  return made;
}

export class Refused extends Error {
  constructor(status, sentence, carets) { super(sentence); this.status = status; this.carets = carets; }
}

export async function api(path, body, method) {
  const options = { method: method || (body === undefined ? "GET" : "POST"), headers: {}, credentials: "same-origin" };
  if (body !== undefined) { options.body = JSON.stringify(body); options.headers["content-type"] = "application/json"; }
  let response;
  try { response = await fetch(`/api/${path}`, options); } catch { throw new Refused(0, "The server does not respond. Is `kibitz ui` still running?"); }
  let data = null;
  try { data = await response.json(); } catch { /* reported below */ }
  if (!response.ok) throw new Refused(response.status, (data && data.error) || `The server responded with status ${response.status}.`, data && data.carets);
  return data;
}

// Slow requests show a message after a moment. The first one compiles code.
export const SLOW = "The first time, this can take half a minute.";
export async function patiently(answer, tell) {
  const timer = setTimeout(tell, 1500);
  try { return await answer; } finally { clearTimeout(timer); }
}

// A click is lost if its element is redrawn before the button is released, so automatic redraws wait for that.
let held = Promise.resolve();
let free = () => {};
document.addEventListener("pointerdown", () => { free(); held = new Promise((done) => { free = done; setTimeout(done, 2000); }); }, true);
for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => { const done = free; setTimeout(done); }, true);
export const released = () => held;

export function say(text) { document.getElementById("said").textContent = text; }
export function go(path, replace) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  window.dispatchEvent(new CustomEvent("kibitz:go"));
}

// Numbers

export const percent = (p, digits) => {
  if (p === null || p === undefined) return "";
  const x = 100 * p;
  if (digits === undefined) digits = x > 0 && x < 9.95 ? 1 : 0;
  if (x > 0 && x < 0.05) return "<0.1%";
  return `${x.toFixed(digits)}%`;
};
export const signed = (x, digits = 3) => {
  if (x === null || x === undefined) return "–";
  const size = Math.abs(x);
  const text = size >= 1000 ? Math.round(size).toLocaleString("en") : size.toFixed(size >= 100 ? Math.min(1, digits) : digits);
  return `${x < 0 && Number(text.replaceAll(",", "")) !== 0 ? "−" : "+"}${text}`;
};
export const small = (x) => {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0";
  return x >= 0.001 && x < 100000 ? String(Number(x.toPrecision(3))) : x.toExponential(1);
};
export const chips = (x) => `${x < 0 ? "−" : x > 0 ? "+" : ""}${Math.abs(x).toLocaleString("en", { maximumFractionDigits: 2 })}`;

// Display names of games

const GAMES = { leduc: "Leduc hold'em", kuhn: "Kuhn poker", rhode_island: "Rhode Island hold'em", toepen: "Toepen", liars_dice: "Liar's Dice",
  "poker(file=holdem.limit.2p)": "Limit hold'em, 2 players", "poker(file=holdem.limit.3p)": "Limit hold'em, 3 players",
  "poker(file=holdem.nolimit.2p)": "No-limit hold'em, 2 players", "poker(file=leduc)": "Leduc (ACPC definition)", "poker(file=kuhn)": "Kuhn (ACPC definition)" };
export const gameName = (spec) => {
  const [, name, more] = /^(\w+)\((.*)\)$/.exec(spec) || [];
  return GAMES[spec] || (GAMES[name] ? `${GAMES[name]} (${more})` : spec);
};

// Cards

const SUITS = { s: ["♠", "spades"], h: ["♥", "hearts"], d: ["♦", "diamonds"], c: ["♣", "clubs"] };
const RANKS = { T: "10" };
export const isCards = (word) => /^[2-9TJQKA][shdc]( ?[2-9TJQKA][shdc])*$/.test(word);
export const cardsOf = (word) => word.match(/[2-9TJQKA][shdc]/g) || [];
export function cardText(word) {
  if (!isCards(word)) return word;
  return cardsOf(word).map((card) => (RANKS[card[0]] || card[0]) + SUITS[card[1]][0]).join(" ");
}
export function card(name, props = {}) {
  const extra = props.class ? ` ${props.class}` : "";
  if (name === null) return h("span", { ...props, class: `card back${extra}`, role: "img", "aria-label": "a hidden card" });
  const [sign, suit] = SUITS[name[1]] || ["", ""];
  const rank = name.length === 2 && suit ? RANKS[name[0]] || name[0] : name;
  const red = name[1] === "h" || name[1] === "d";
  return h("span", { ...props, class: `card${red && suit ? " red" : ""}${suit ? "" : " word"}${extra}`, role: "img", "aria-label": suit ? `${rank} of ${suit}` : rank },
    h("span", { class: "rank", "aria-hidden": "true" }, rank), suit ? h("span", { class: "suit", "aria-hidden": "true" }, sign) : null);
}
export const cards = (words) => words.flatMap((word) => (isCards(word) ? cardsOf(word) : [word])).map((name) => card(name));
export function wordNode(text) {
  if (!isCards(text)) return document.createTextNode(text);
  const made = h("span", { class: "cardtext" });
  for (const name of cardsOf(text)) made.append(h("span", { class: name[1] === "h" || name[1] === "d" ? "redtext" : "" }, cardText(name)));
  return made;
}

// Colours of actions: fold grey, check and call blue, bet and raise orange; others by their place

const CALM = new Set(["call", "check", "pass"]);
const OTHERS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"];
export function colours(names) {
  let other = 0;
  let raises = 0;
  const poker = names.some((name) => CALM.has(name) || name === "fold");
  return names.map((name) => {
    if (name === "fold") return "var(--fold)";
    if (CALM.has(name)) return "var(--call)";
    if (poker && (/^(raise|bet|allin)/.test(name) || /^r\d+$/.test(name))) return raises++ ? `var(--raise${Math.min(raises, 3)})` : "var(--raise)";
    return `var(${OTHERS[other++ % OTHERS.length]})`;
  });
}
export function split(p, of) {
  const parts = [];
  let at = 0;
  p.forEach((share, k) => { const to = at + 100 * (share || 0); parts.push(`${of[k]} ${at.toFixed(2)}% ${to.toFixed(2)}%`); at = to; });
  return parts.length ? `linear-gradient(90deg, ${parts.join(", ")})` : "none";
}
export function bars(labels, p, of, options = {}) {
  return h("div", { class: "bars" }, labels.map((label, k) => (p[k] === null || p[k] === undefined) ? null :
    h("div", { class: `bar${options.chosen === k ? " chosen" : ""}` },
      h("span", { class: "barname" }, wordNode(label), options.chosen === k ? h("span", { class: "mark" }, options.who || "you") : null),
      h("span", { class: "track" }, h("span", { class: "fill", vars: { "--w": `${(100 * p[k]).toFixed(2)}%`, "--c": of[k] } })),
      h("span", { class: "num" }, percent(p[k])),
      options.values ? h("span", { class: "num wide" }, options.values[k] === null || options.values[k] === undefined ? "" : signed(options.values[k])) : null)));
}

// A grid of 169 hands, or a row of holdings. Arrow keys move; hovering or focus shows the numbers.

const ORDER = "AKQJT98765432";
export function place(name) {
  if (name.length < 2) return null;
  const a = ORDER.indexOf(name[0]), b = ORDER.indexOf(name[1]);
  if (a < 0 || b < 0) return null;
  return name.length === 2 ? [a, a] : name[2] === "s" ? [a, b] : [b, a];
}
export function grid(cells, layout, options) {
  const { label, paint, tell, chosen, kind } = options;
  const made = h("div", { class: `cells ${layout} ${kind || ""}`, role: "group", "aria-label": label });
  const by = new Map(cells.map((cell) => [cell.name, cell]));
  let names;
  const dense = layout === "grid";
  if (dense) {
    const ranks = [...ORDER].filter((rank) => options.full || by.has(rank + rank) || cells.some((c) => c.name.includes(rank)));
    made.style.setProperty("--n", ranks.length);
    names = ranks.flatMap((row, i) => ranks.map((column, j) => (i === j ? row + row : j > i ? `${row}${column}s` : `${column}${row}o`)));
    made.dataset.width = ranks.length;
  } else {
    names = cells.map((cell) => cell.name);
    const suits = new Set(names.filter((n) => isCards(n) && n.length === 2).map((n) => n[1]));
    const long = Math.max(...names.map((name) => name.length), 0) > 4;  // several cards, or a word
    made.classList.toggle("words", long);
    const width = long ? Math.min(names.length, window.innerWidth < 560 ? 2 : 5) : suits.size > 1 && names.length > 8 && names.every((n) => isCards(n) && n.length === 2) ? new Set(names.map((n) => n[0])).size : Math.min(names.length, 13);
    if (!long && suits.size > 1 && names.length > 8) names = [...names].sort((a, b) => "shdc".indexOf(a[1]) - "shdc".indexOf(b[1]));
    made.style.setProperty("--n", Math.max(width, 1));
    made.dataset.width = Math.max(width, 1);
  }
  const first = names.find((name) => by.has(name));
  for (const name of names) {
    const cell = by.get(name);
    if (!cell) { made.append(h("span", { class: "cell none" }, h("span", { class: "cellname" }, cardText(name)))); continue; }
    const button = h("button", { class: "cell", type: "button", tabIndex: (chosen ? chosen === name : name === first) ? 0 : -1 }, h("span", { class: "cellname" }, wordNode(name)));
    if (chosen === name) button.classList.add("own");
    button.dataset.name = name;
    paint(button, cell);
    const show = () => tell && tell(cell);
    button.addEventListener("mouseenter", show);
    button.addEventListener("focus", show);
    button.addEventListener("click", show);
    made.append(button);
  }
  made.addEventListener("keydown", (event) => {
    const width = Number(made.dataset.width);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[event.key];
    if (!step) return;
    const all = [...made.children];
    let at = all.indexOf(document.activeElement);
    do { at += step; } while (all[at] && all[at].tagName !== "BUTTON");
    if (!all[at]) return;
    event.preventDefault();
    all.forEach((each) => { if (each.tagName === "BUTTON") each.tabIndex = -1; });
    all[at].tabIndex = 0;
    all[at].focus();
  });
  return made;
}
export function heat(cells) {
  const most = Math.max(...cells.map((cell) => cell.weight / (cell.count || 1)), 1e-300);
  return (button, cell) => {
    const share = cell.weight / (cell.count || 1) / most;
    button.style.setProperty("--heat", `${(100 * share).toFixed(1)}%`);
    button.classList.toggle("strong", share > 0.55);
    button.setAttribute("aria-label", `${cardText(cell.name)} ${percent(cell.weight)}`);
    button.title = `${cardText(cell.name)}  ${percent(cell.weight)}`;
  };
}
// The number of combinations in a cell of the grid, so that shades do not favour offsuit hands.
export const combos = (name) => (/^[2-9TJQKA]{2}[so]?$/.test(name) ? (name.length === 2 ? 6 : name[2] === "s" ? 4 : 12) : 1);

export function problem(error, retry) {
  return h("div", { class: "panel problem", role: "alert" }, h("p", {}, error.message), retry ? h("p", {}, h("a", { href: retry, "data-link": true }, "Back")) : null);
}

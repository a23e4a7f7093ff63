// A range editor: a grid of 13 x 13 classes of hands beside the text of the range. Either changes the other.
import { api, combos, grid, h, percent } from "./dom.js";

const ORDER = "AKQJT98765432";
const NAMES = [...ORDER].flatMap((row, i) => [...ORDER].map((column, j) => (i === j ? row + row : j > i ? `${row}${column}s` : `${column}${row}o`)));

// The text of classes with weights. Neighbours of one weight are written as one item: TT+, A5s-A2s.
export function textOf(weights) {
  const items = [];
  const take = (list) => {
    let run = [];
    const end = () => {
      if (!run.length) return;
      const w = weights[run[0]], from = run[0], to = run[run.length - 1];
      const top = list.indexOf(from) === 0;
      const name = run.length === 1 ? from : top ? `${to}+` : `${from}-${to}`;
      items.push(w < 1 ? `${name}:${Number(w.toFixed(3))}` : name);
      run = [];
    };
    for (const name of list) {
      if (run.length && weights[run[0]] !== weights[name]) end();
      if (weights[name] > 0) run.push(name);
    }
    end();
  };
  take([...ORDER].map((rank) => rank + rank));
  for (const kind of "so") for (let i = 0; i < 12; i += 1) take([...ORDER].slice(i + 1).map((low) => `${ORDER[i]}${low}${kind}`));
  return items.join(", ");
}

export function rangeEditor(label, text, onchange) {
  let weights = Object.fromEntries(NAMES.map((name) => [name, 0]));
  let mixed = [];
  let asked = 0;
  let pending = false;  // the text has changed, and the grid has not yet
  let painting = null;  // the weight that a drag paints
  const field = h("textarea", { rows: 2, spellcheck: false, "aria-label": `${label} range`, value: text, maxLength: 4000 });
  const brush = h("input", { type: "range", min: 5, max: 100, step: 5, value: 100, "aria-label": `${label}: weight of the hands that you click` });
  const brushSaid = h("span", { class: "num" }, "100%");
  brush.addEventListener("input", () => { brushSaid.textContent = `${brush.value}%`; });
  const note = h("p", { class: "hint one", "aria-live": "polite" });
  const fault = h("div", { hidden: true });
  const paint = (button, cell) => {
    const w = weights[cell.name];
    button.style.setProperty("--tall", `${(100 * w).toFixed(1)}%`);
    button.style.setProperty("--split", "var(--raise)");
    button.setAttribute("aria-pressed", String(w > 0));
    button.setAttribute("aria-label", `${cell.name} ${percent(w)}`);
    button.title = `${cell.name}  ${percent(w)}`;
  };
  const board = grid(NAMES.map((name) => ({ name })), "grid", { label: `${label} range by class of hands`, paint, kind: "edit", tell: (cell) => { note.textContent = `${cell.name}: ${percent(weights[cell.name])}`; } });
  const buttons = new Map([...board.querySelectorAll("button")].map((button) => [button.dataset.name, button]));
  const repaint = () => { for (const [name, button] of buttons) paint(button, { name }); };
  const count = () => {
    const hands = NAMES.reduce((sum, name) => sum + weights[name] * combos(name), 0);
    note.textContent = `${percent(hands / 1326, 1)} of all hands${mixed.length ? `; hands of ${mixed.join(", ")} have weights of their own, which a click replaces` : ""}`;
  };
  const written = () => { mixed = []; field.value = textOf(weights); fault.hidden = true; count(); onchange(field.value); };
  const set = (name, weight) => { if (weights[name] !== weight) { weights[name] = weight; paint(buttons.get(name), { name }); written(); } };
  const toggle = (name) => { if (pending) return; const w = Number(brush.value) / 100; painting = weights[name] === w ? 0 : w; set(name, painting); };
  board.addEventListener("pointerdown", (event) => {
    const cell = event.target.closest("button.cell");
    if (!cell || event.button) return;
    toggle(cell.dataset.name);
    if (event.pointerType === "mouse") event.preventDefault();
    cell.focus({ preventScroll: true });
  });
  board.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("button.cell");
    if (cell && painting !== null && event.buttons && event.pointerType === "mouse") set(cell.dataset.name, painting);
  });
  window.addEventListener("pointerup", () => { painting = null; });
  board.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    toggle(document.activeElement.dataset.name);
    painting = null;
  });
  const read = async () => {
    const mine = ++asked;
    onchange(field.value);
    try {
      const range = await api("range", { text: field.value });
      if (mine !== asked) return;
      ({ weights, mixed } = range);
      pending = false;
      fault.hidden = true;
      repaint();
      count();
    } catch (error) {
      if (mine !== asked) return;
      fault.replaceChildren(h("p", {}, error.message), h("pre", { class: "carets" }, error.carets || ""));
      fault.hidden = false;
      pending = false;
    }
  };
  let timer = null;
  field.addEventListener("input", () => { pending = true; clearTimeout(timer); timer = setTimeout(read, 250); });
  field.addEventListener("change", read);
  if (text) read(); else count();
  const clear = h("button", { class: "quiet", type: "button", onclick: () => { field.value = ""; read(); } }, "Clear");
  return h("fieldset", { class: "editor" }, h("legend", {}, label), field, board,
    h("div", { class: "brush" }, h("label", {}, h("span", { class: "hint" }, "Weight "), brush), brushSaid, clear), h("div", { class: "below" }, note, fault));
}

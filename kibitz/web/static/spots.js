// Spots: a form, how far a solve is, and the solved spot.
import { api, card, cardText, cards, go, h, problem, say, small } from "./dom.js";
import { chart } from "./chart.js";
import { rangeEditor } from "./ranges.js";
import { solved } from "./spot.js";
import { drill } from "./drill.js";

const EXAMPLE = { board: "Qs Jh 2h", ranges: ["22-JJ, A2s+, K9s+, QTs+, JTs, T9s, 98s, 87s, AJo-ATo, KQo", "77+, A9s+, KTs+, QTs+, JTs, ATo+, KQo"],
  pot: "100", stacks: "400", bets: "33%, 75%", raises: "60%, allin", rake: "", until: "0.5", seconds: "120", prizes: "", others: "" };
let asked = EXAMPLE;  // what the form says; it stays while the page is open
let timer = null;

export async function spots(main, parts) {
  clearTimeout(timer);
  if (!parts.length) return form(main);
  const [id, what] = parts;
  if (what === "play") return drill(main, id);
  let data;
  try { data = await api(`spots/${encodeURIComponent(id)}`); } catch (error) { main.replaceChildren(problem(error, "/spots")); return leave; }
  if (!here(id)) return leave;
  if (data.state === "solved") return solved(main, data, new URLSearchParams(location.search).get("line") || "");
  progress(main, data);
  return leave;
}

function leave() { clearTimeout(timer); }
const here = (id) => location.pathname === `/spots/${encodeURIComponent(id)}`;

// While it is solved

function progress(main, data) {
  // Only the parts around the buttons are drawn again: a click on a button is not lost.
  const top = h("div", { class: "look" }), below = h("div", {});
  const stop = h("button", { class: "main", type: "button", onclick: async () => {
    stop.disabled = true;
    stop.textContent = "Stopping…";
    say("Stopping");
    try { await api(`spots/${encodeURIComponent(data.id)}/stop`, {}); } catch (error) { main.replaceChildren(problem(error, "/spots")); }
  } }, "Stop and keep");
  const discard = h("button", { class: "quiet", type: "button", onclick: async () => {
    try { await api(`spots/${encodeURIComponent(data.id)}`, undefined, "DELETE"); } catch { /* it is gone */ }
    go("/spots");
  } }, "Discard");
  const draw = (now) => {
    const last = now.points[now.points.length - 1];
    const failed = now.state === "failed";
    const curve = { name: "exploitability", points: now.points, axes: ["iterations", "seconds", "exploitability, share of the pot"], goal: now.until };
    top.replaceChildren(h("h1", {}, failed ? "Not solved" : now.state === "waiting" ? "Waiting for another spot" : "Solving"),
      h("div", { class: "cardrow", "aria-label": "The board" }, cards(now.board)),
      h("dl", { class: "facts" }, fact("iterations", last ? String(last[0]) : "0"), fact("exploitability", last ? `${small(100 * last[2])}% of the pot` : "not yet"), fact("target", `${small(100 * now.until)}% of the pot`),
        fact("size", `${now.estimate.sequences.toLocaleString("en")} sequences`), fact("memory", `about ${Math.ceil(now.estimate.bytes / 1e6).toLocaleString("en")} MB`)));
    stop.hidden = failed;
    if (failed) discard.textContent = "Back to the form";
    below.replaceChildren(failed ? h("p", { class: "panel problem" }, `${now.why}.`) : now.points.length ? h("section", { class: "panel convergence", "aria-label": "Convergence" }, chart([curve], "seconds", "Exploitability against seconds"))
      : h("div", { class: "panel convergence" }, h("p", { class: "hint" }, "The first time, compiling takes up to a minute.")));
  };
  const poll = async () => {
    try {
      const now = await api(`spots/${encodeURIComponent(data.id)}`);
      if (!here(data.id)) return;
      if (now.state === "solved") { say("Solved"); go(location.pathname, true); return; }
      draw(now);
      if (now.state !== "failed") timer = setTimeout(poll, 700);
    } catch (error) { if (here(data.id)) main.replaceChildren(problem(error, "/spots")); }
  };
  draw(data);
  main.replaceChildren(h("div", { class: "look" }, top, h("p", { class: "filters" }, stop, discard), below));
  document.title = "Solving a spot · kibitz";
  if (data.state !== "failed") timer = setTimeout(poll, 300);
}
const fact = (name, text) => h("div", {}, h("dt", {}, name), h("dd", {}, text));

// The form

function boardPicker(text, onchange) {
  const chosen = (text.match(/[2-9TJQKA][shdc]/g) || []).slice(0, 5);
  const row = h("div", { class: "cardrow board", "aria-label": "The board" });
  const deck = h("div", { class: "deck wide" });
  const draw = () => {
    row.replaceChildren(...chosen.map((name) => card(name)), ...Array.from({ length: 5 - chosen.length }, () => h("span", { class: "slot" })));
    for (const button of deck.querySelectorAll("button")) button.setAttribute("aria-pressed", String(chosen.includes(button.dataset.name)));
  };
  for (const suit of "shdc") {
    deck.append(h("div", { class: "suitrow" }, [..."AKQJT98765432"].map((rank) => {
      const name = rank + suit;
      return h("button", { class: "pick", type: "button", "data-name": name, "aria-pressed": "false", "aria-label": cardText(name), onclick: () => {
        const at = chosen.indexOf(name);
        if (at >= 0) chosen.splice(at, 1); else if (chosen.length < 5) chosen.push(name);
        draw();
        onchange(chosen.join(" "));
      } }, card(name));
    })));
  }
  draw();
  return h("fieldset", { class: "boardpick" }, h("legend", {}, "Board: three to five cards"), row, deck);
}

async function form(main) {
  const { spots: before, saved } = await api("spots");
  if (location.pathname !== "/spots") return leave;
  const field = (name, label, hint, props = {}) => h("label", { class: "field" }, h("span", {}, label),
    h("input", { name, value: asked[name], autocomplete: "off", spellcheck: false, maxLength: 200, title: hint, oninput: (event) => { asked = { ...asked, [name]: event.target.value }; }, ...props }), h("span", { class: "hint" }, hint));
  const fault = h("div", {});
  const button = h("button", { class: "main", type: "submit" }, "Solve");
  const range = (seat, label) => rangeEditor(label, asked.ranges[seat], (text) => { const ranges = [...asked.ranges]; ranges[seat] = text; asked = { ...asked, ranges }; });
  const made = h("form", { class: "spotform", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    fault.replaceChildren();
    const { until, seconds, ...rest } = asked;
    try {
      const data = await api("spots", { ...rest, until: Number(until) / 100, seconds: Number(seconds) });
      go(`/spots/${encodeURIComponent(data.id)}`);
    } catch (error) {
      fault.replaceChildren(h("div", { class: "panel problem", role: "alert" }, h("p", {}, error.message), error.carets ? h("pre", { class: "carets" }, error.carets) : null));
      button.disabled = false;
    }
  } },
    h("section", { class: "panel" }, boardPicker(asked.board, (board) => { asked = { ...asked, board }; }),
      h("div", { class: "fields" }, field("pot", "Pot", "chips in the middle", { inputMode: "decimal" }), field("stacks", "Stacks", "chips behind, such as 400"), field("bets", "Bets", "33%, 75%, allin; river: 125%; turn IP: e"), field("raises", "Raises", "60%, 2.5x, allin"))),
    h("section", { class: "panel ranges" }, h("div", { class: "rangerow" }, range(0, "Out of position (OOP)"), range(1, "In position (IP)"))),
    h("details", { class: "panel" }, h("summary", {}, "More: rake, prizes, when to stop"), h("div", { class: "fields" }, field("rake", "Rake", "share of the pot, such as 5%"), field("prizes", "Prizes", "of a tournament: 50, 30, 20"), field("others", "Other stacks", "of the tournament: 1500, 800"),
      field("until", "Target", "exploitability, percent of the pot"), field("seconds", "Seconds", "at most"))),
    fault, h("p", {}, button));
  main.replaceChildren(h("div", { class: "lobby" }, h("h1", {}, "Spots"), h("p", { class: "hint" }, "Two players, a board, a pot and two ranges: what should each hand do?"),
    saved.length ? h("section", { class: "panel", "aria-label": "Saved spots" }, h("h2", {}, "Saved spots"), h("ul", { class: "spotlist" }, saved.map((each) => h("li", {}, h("a", { href: `/spots/${encodeURIComponent(each.id)}`, "data-link": true }, each.name), h("span", { class: "hint" }, ` ${cardText(each.board)}`))))) : null, made,
    before.length ? h("section", { class: "panel", "aria-label": "Spots of this session" }, h("h2", {}, "Spots of this session"), h("ul", { class: "spotlist" }, before.map((each) => h("li", {}, h("a", { href: `/spots/${encodeURIComponent(each.id)}`, "data-link": true }, cardText(each.board.join(" "))), h("span", { class: "hint" }, ` ${each.title.split(", ").slice(1).join(", ")}; ${each.state}${each.exploitability === null ? "" : `, ${small(100 * each.exploitability)}% of the pot`}`))))) : null));
  document.title = "Spots · kibitz";
  return leave;
}

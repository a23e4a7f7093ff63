// Spots: a form, how far a solve is, and the solved spot.
import { api, card, cardText, cards, go, h, problem, say, small } from "./dom.js";
import { chart } from "./chart.js";
import { rangeEditor } from "./ranges.js";
import { solved } from "./spot.js";
import { drill } from "./drill.js";

const EXAMPLES = {
  two: { board: "Qs Jh 2h", ranges: ["22-JJ, A2s+, K9s+, QTs+, JTs, T9s, 98s, 87s, AJo-ATo, KQo", "77+, A9s+, KTs+, QTs+, JTs, ATo+, KQo"],
    pot: "100", stacks: "400", bets: "33%, 75%", raises: "60%, allin", rake: "", until: "0.5", seconds: "120", prizes: "", others: "", chip: "" },
  three: { board: "Qs Jh 2h 5c 5d", ranges: ["22, 55, QJs, JTs, T9s, AJs, KQo", "JJ-TT, AQ, KQs, T9s", "QQ+, AQs, KJs, AKo"], pot: "90", stacks: "200, 100, 150", bets: "50%", raises: "allin", rake: "", rake_cap: "", max_raises: "", seconds: "30", chip: "" },
  preflop: { stacks: "10", opens: "allin", threebets: "allin", fourbets: "allin", limps: false, postflop: "none", ante: "", bets: "50%, allin", raises: "60%, allin", until: "0.02", seconds: "60" },
};
const KINDS = { two: "Two players", three: "Three players", preflop: "Before the flop" };
const HINTS = {
  two: "Two players, a board, a pot and two ranges: what should each hand do?",
  three: "Three ranges, in the order in which players act. It is trained by sampling, for as long as you say. With three players there is no guarantee to come near an equilibrium: the answer says what was measured.",
  preflop: "Which hands should open, call and raise? The example is push/fold with 10 big blinds. Two players without betting after the flop are solved over all cards; everything else is trained by sampling, for as long as you say.",
};
let kind = "two";
const asked = structuredClone(EXAMPLES);  // what the forms say; it stays while the page is open
let timer = null;

export async function spots(main, parts) {
  clearTimeout(timer);
  if (!parts.length) return form(main);
  const [id, what] = parts;
  if (what === "play") return drill(main, id);
  let data;
  try { data = await api(`spots/${encodeURIComponent(id)}`); } catch (error) { main.replaceChildren(problem(error, "/spots")); return leave; }
  if (!here(id)) return leave;
  if (data.state === "solved") return solved(main, data, new URLSearchParams(location.search).get("line") || "", askFlop);
  progress(main, data);
  return leave;
}

function leave() { clearTimeout(timer); }

// The form with the ranges that come to a flop
function askFlop(flop) {
  kind = flop.ranges.length === 3 ? "three" : "two";
  const stacks = flop.ranges.length === 3 ? flop.stacks.join(", ") : String(Math.min(...flop.stacks));
  asked[kind] = { ...EXAMPLES[kind], board: "", ranges: flop.ranges, pot: String(flop.pot), stacks, chip: String(flop.chip) };
  go("/spots");
}
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
    const share = (x) => (now.kind === "preflop" ? `${small(x)} big blinds` : `${small(100 * x)}% of the pot`);
    const failed = now.state === "failed";
    const curve = { name: "exploitability", points: now.points, axes: ["iterations", "seconds", `exploitability, ${now.kind === "preflop" ? "big blinds" : "share of the pot"}`], goal: now.until };
    top.replaceChildren(...[h("h1", {}, failed ? "Not solved" : now.state === "waiting" ? "Waiting for another spot" : "Solving"),
      now.board.length ? h("div", { class: "cardrow", "aria-label": "The board" }, cards(now.board)) : null,
      h("dl", { class: "facts" }, fact("iterations", last ? last[0].toLocaleString("en") : "0"),
        now.target ? [fact("exploitability", last && last[2] !== null ? share(last[2]) : "not yet"), fact("target", share(now.until))] : [fact("now", now.phase || "starting"), fact("training takes", `${small(now.seconds)} seconds`)],
        now.estimate.sequences ? fact("size", `${now.estimate.sequences.toLocaleString("en")} sequences`) : fact("size", `${now.estimate.nodes.toLocaleString("en")} betting nodes`),
        now.estimate.bytes ? fact("memory", `about ${Math.ceil(now.estimate.bytes / 1e6).toLocaleString("en")} MB`) : null)].filter(Boolean));
    stop.hidden = failed;
    if (failed) discard.textContent = "Back to the form";
    below.replaceChildren(failed ? h("p", { class: "panel problem" }, `${now.why}.`) : now.target && now.points.length ? h("section", { class: "panel convergence", "aria-label": "Convergence" }, chart([curve], "seconds", "Exploitability against seconds"))
      : h("div", { class: now.target ? "panel convergence" : "panel" }, h("p", { class: "hint" }, now.target || !last ? "The first time, compiling takes up to a minute." : "How good the strategies are is measured after the training, on fresh deals or by counting all hands.")));
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
  const { spots: before, saved, gpu } = await api("spots");
  if (location.pathname !== "/spots") return leave;
  const mine = kind;
  const set = (name, value) => { asked[mine] = { ...asked[mine], [name]: value }; };
  const field = (name, label, hint, props = {}) => h("label", { class: "field" }, h("span", {}, label),
    h("input", { name, value: asked[mine][name], autocomplete: "off", spellcheck: false, maxLength: 200, title: hint, oninput: (event) => set(name, event.target.value), ...props }), h("span", { class: "hint" }, hint));
  const fault = h("div", {});
  const button = h("button", { class: "main", type: "submit" }, "Solve");
  const range = (seat, label) => rangeEditor(label, asked[mine].ranges[seat], (text) => { const ranges = [...asked[mine].ranges]; ranges[seat] = text; set("ranges", ranges); });
  const made = h("form", { class: "spotform", onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    fault.replaceChildren();
    const { until, seconds, ...rest } = asked[mine];
    try {
      const data = await api("spots", { kind: mine, ...rest, ...(until === undefined ? {} : { until: Number(until) / 100 }), seconds: Number(seconds) });
      go(`/spots/${encodeURIComponent(data.id)}`);
    } catch (error) {
      fault.replaceChildren(h("div", { class: "panel problem", role: "alert" }, h("p", {}, error.message), error.carets ? h("pre", { class: "carets" }, error.carets) : null));
      button.disabled = false;
    }
  } }, mine === "preflop" ? beforeFields(field, set) : spotFields(mine, field, set, range, gpu), fault, h("p", {}, button));
  const tab = (name) => h("button", { class: "tab", type: "button", "data-key": `kind${name}`, "aria-pressed": String(name === mine), onclick: () => { kind = name; form(main).then(() => main.querySelector(`[data-key="kind${name}"]`)?.focus()); } }, KINDS[name]);
  const link = (each, text, hint) => h("li", {}, h("a", { href: `/spots/${encodeURIComponent(each.id)}`, "data-link": true }, text), h("span", { class: "hint" }, hint));
  const good = (each) => (each.exploitability === null ? "" : each.kind === "preflop" ? `, ${small(each.exploitability)} big blinds` : `, ${small(100 * each.exploitability)}% of the pot`);
  main.replaceChildren(h("div", { class: "lobby" }, h("h1", {}, "Spots"),
    saved.length ? h("section", { class: "panel", "aria-label": "Saved spots" }, h("h2", {}, "Saved spots"), h("ul", { class: "spotlist" }, saved.map((each) => link(each, each.name, ` ${each.kind === "preflop" ? "before the flop" : cardText(each.board)}${each.kind === "multiway" ? ", three players" : ""}`)))) : null,
    h("div", { class: "tabs kinds", role: "group", "aria-label": "What to solve" }, Object.keys(KINDS).map(tab)), h("p", { class: "hint" }, HINTS[mine]), made,
    before.length ? h("section", { class: "panel", "aria-label": "Spots of this session" }, h("h2", {}, "Spots of this session"), h("ul", { class: "spotlist" }, before.map((each) => link(each, each.board.length ? cardText(each.board.join(" ")) : "Before the flop", ` ${each.title.replace("before the flop, ", "")}; ${each.state}${good(each)}`)))) : null));
  document.title = "Spots · kibitz";
  return leave;
}

// A board, ranges and sizes of two players or three
function spotFields(mine, field, set, range, gpu) {
  const two = mine === "two";
  const device = h("select", { name: "device", onchange: (event) => set("device", event.target.value) }, h("option", { value: "cpu", selected: asked[mine].device !== "gpu" }, "CPU"), h("option", { value: "gpu", selected: asked[mine].device === "gpu" }, "GPU"));
  const labels = two ? ["Out of position (OOP)", "In position (IP)"] : ["First to act (OOP)", "Second (MID)", "Last (IP)"];
  return [h("section", { class: "panel" }, boardPicker(asked[mine].board, (board) => set("board", board)),
    h("div", { class: "fields" }, field("pot", "Pot", "chips in the middle", { inputMode: "decimal" }), field("stacks", "Stacks", two ? "chips behind, such as 400" : "one number, or three in the order of acting"), field("bets", "Bets", two ? "33%, 75%, allin; river: 125%; turn IP: e" : "50%, allin; river: 75%: the same for all"), field("raises", "Raises", two ? "60%, 2.5x, allin" : "60%, allin"))),
  h("section", { class: "panel ranges" }, h("div", { class: "rangerow" }, labels.map((label, seat) => range(seat, label)))),
  h("details", { class: "panel" }, h("summary", {}, two ? "More: rake, prizes, when to stop" : "More: rake, when to stop"), h("div", { class: "fields" }, field("rake", "Rake", "share of the pot, such as 5%"),
    two ? [field("prizes", "Prizes", "of a tournament: 50, 30, 20"), field("others", "Other stacks", "of the tournament: 1500, 800"), field("until", "Target", "exploitability, percent of the pot")] : [field("rake_cap", "Most rake", "chips"), field("max_raises", "Most raises", "bets and raises on a street: 2")],
    field("seconds", "Seconds", two ? "at most" : "of training"), two && gpu ? h("label", { class: "field" }, h("span", {}, "Device"), device, h("span", { class: "hint" }, "a GPU is faster on large flops")) : null))];
}

// Stacks and sizes before the flop
function beforeFields(field, set) {
  const now = asked.preflop;
  const after = h("select", { name: "postflop", onchange: (event) => set("postflop", event.target.value) }, h("option", { value: "none", selected: now.postflop === "none" }, "no betting"), h("option", { value: "buckets", selected: now.postflop === "buckets" }, "betting, hands in buckets"));
  const limps = h("input", { type: "checkbox", name: "limps", checked: now.limps, onchange: (event) => set("limps", event.target.checked) });
  return [h("section", { class: "panel" }, h("div", { class: "fields" }, field("stacks", "Stacks", "big blinds: 10 for two players, or 15, 15, 15"), field("opens", "Opens", "first raises: 2.5bb, allin"), field("threebets", "3-bets", "3x, 9bb, allin; none"), field("fourbets", "4-bets", "2.3x, allin; none"),
    h("label", { class: "field" }, h("span", {}, "After the flop"), after, h("span", { class: "hint" }, "without betting, hands are shown down")), h("label", { class: "field check" }, h("span", {}, limps, " Limps"), h("span", { class: "hint" }, "may players call before somebody has raised?")))),
  h("details", { class: "panel" }, h("summary", {}, "More: antes, bets after the flop, when to stop"), h("div", { class: "fields" }, field("ante", "Ante", "of each player, big blinds"), field("bets", "Bets", "after the flop: 50%, allin"), field("raises", "Raises", "after the flop: 60%, allin"), field("until", "Target", "exploitability, percent of a big blind"), field("seconds", "Seconds", "at most")))];
}

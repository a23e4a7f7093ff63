// Play: a table, and what the strategy would have done.
import { SLOW, api, bars, card, cardText, cards, cardsOf, chips, colours, combos, gameName, go, grid, h, heat, isCards, patiently, percent, problem, released, say, signed, wordNode } from "./dom.js";

let table = null;
let review = null;
let busy = false;
let host = null;

// Whether a response is too late: the page shows something else by now.
const elsewhere = (id) => location.pathname !== `/play/table/${encodeURIComponent(id)}`;

export async function play(main, parts, query) {
  host = main;
  if (parts[0] !== "table" || !parts[1]) { table = null; await lobby(main, query); return leave; }
  if (!table || table.id !== parts[1]) {
    review = null;
    try {
      const found = await api(`tables/${encodeURIComponent(parts[1])}`);
      if (elsewhere(parts[1])) return leave;
      table = found;
    } catch (error) {
      if (!elsewhere(parts[1])) main.replaceChildren(problem(error, "/play"));
      return leave;
    }
  }
  document.title = `${gameName(table.game)} · kibitz`;
  document.addEventListener("keydown", keys);
  draw();
  if (table.over) fetchReview();
  return leave;
}

function leave() { document.removeEventListener("keydown", keys); }

// Before the game

const RULES = {
  leduc: "A deck of six cards. Each player gets one card, and one card is on the board.", kuhn: "A deck of three cards. Each player gets one card and can bet once.", rhode_island: "Each player gets one card. Two cards are dealt on the board, one by one.",
  toepen: "Each player gets four cards. Whoever wins the last trick wins the hand.", liars_dice: "Bid on how many dice show a face, or challenge the last bid.",
};
async function lobby(main, query) {
  const here = location.pathname + location.search;
  const { strategies, games } = await api("library");
  if (here !== location.pathname + location.search) return;
  const game = games.includes(query.get("game")) ? query.get("game") : games[0];
  const seats = /3p|players=3/.test(game) ? 2 : 1;
  const fit = strategies.filter((each) => each.game === game);
  const pickers = Array.from({ length: seats }, (_, k) => h("label", { class: "field" }, h("span", {}, seats > 1 ? `Opponent ${k + 1}` : "Opponent"),
    h("select", { name: `opponent${k}` }, fit.flatMap((each) => {
      const own = [h("option", { value: each.id }, each.name)];
      if (each.searches) own.push(h("option", { value: `search:${each.id}` }, `${each.name}, with search`));
      return own;
    }))));
  const form = h("form", { class: "panel sit", onsubmit: async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    button.textContent = "Loading the strategy…";
    const opponents = Array.from({ length: seats }, (_, k) => form.elements[`opponent${k}`].value);
    try {
      const asked = api("tables", { opponents: new Set(opponents).size === 1 ? [opponents[0]] : opponents });
      const found = await patiently(asked, () => { button.textContent = `Loading the strategy… ${SLOW}`; });
      if (!form.isConnected) return;
      [table, review] = [found, null];
      go(`/play/table/${encodeURIComponent(table.id)}`);
    } catch (error) { button.disabled = false; button.textContent = "Start"; say(error.message); form.querySelectorAll(".problem").forEach((old) => old.remove()); form.append(problem(error)); }
  } }, h("h2", {}, gameName(game)), h("p", { class: "hint" }, RULES[game] || "You change seats after every hand."), pickers,
    h("p", {}, h("button", { class: "main", type: "submit" }, "Start")));
  main.replaceChildren(h("div", { class: "lobby" }, h("h1", {}, "Play"), h("nav", { class: "games", "aria-label": "Games" }, games.map((spec) =>
    h("a", { href: `/play?game=${encodeURIComponent(spec)}`, "data-link": true, "aria-current": spec === game ? "true" : null },
      h("strong", {}, gameName(spec)), h("span", { class: "hint" }, `${strategies.filter((each) => each.game === spec).length} opponent${strategies.filter((each) => each.game === spec).length === 1 ? "" : "s"}`)))), form));
  document.title = "Play · kibitz";
}

// The table

const letter = (label) => ({ fold: "f", call: "c", check: "c", raise: "r", bet: "r", pass: "p" })[label] || "";

function keys(event) {
  if (!table || event.repeat || event.metaKey || event.ctrlKey || event.altKey) return;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  const onControl = ["BUTTON", "A", "SUMMARY"].includes(event.target.tagName);
  if (table.over && (event.key === "n" || (event.key === "Enter" && !onControl))) { event.preventDefault(); next(); return; }
  if (table.over) return;
  const number = Number(event.key);
  const at = number >= 1 && number <= 9 ? number - 1 : table.actions.findIndex((a) => letter(a.label) === event.key.toLowerCase());
  if (at >= 0 && table.actions[at]) { event.preventDefault(); act(table.actions[at].name); }
}

async function change(path, body) {
  if (busy) return;
  busy = true;
  host.querySelectorAll(".moves button").forEach((each) => each.setAttribute("aria-disabled", "true"));
  const { id, hand } = table;
  const at = `tables/${encodeURIComponent(id)}`;
  try {
    let found;
    // Another window may have acted at this table: then its current state is shown.
    const slow = () => { if (table && table.id === id && !elsewhere(id)) host.querySelector(".moves").append(h("p", { class: "hint" }, `Waiting for the opponent… ${SLOW}`)); };
    try { found = await patiently(api(`${at}/${path}`, body), slow); } catch (error) { if (error.status !== 409) throw error; found = await api(at); }
    if (!table || table.id !== id) return;
    table = found;
    if (table.hand !== hand) review = null;
    if (elsewhere(id)) return;
    draw();
    announce();
    if (table.over) fetchReview();
  } catch (error) {
    if (elsewhere(id)) return;
    if (error.status === 404) { host.replaceChildren(problem(error, "/play")); return; }
    draw();
    host.querySelector(".moves").append(problem(error));
  } finally { busy = false; }
}
const act = (action) => change("act", { hand: table.hand, decision: table.decision, action });
const next = () => change("next", { hand: table.hand });

function announce() {
  const last = table.events.slice(-3).map((e) => `${e.seat < 0 ? "" : e.seat === table.seat ? "you " : `seat ${e.seat} `}${cardText(e.text)}`).join(", ");
  say(table.over ? `${last}. You ${table.payoff >= 0 ? "win" : "lose"} ${Math.abs(table.payoff)}.` : `${last}. Your turn.`);
}

async function fetchReview() {
  const { id, hand } = table;
  try {
    const found = await api(`tables/${encodeURIComponent(id)}/review`);
    await released();
    if (!table || table.id !== id || table.hand !== hand) return;
    review = found;
    if (!elsewhere(id)) draw();
  } catch (error) { say(error.message); }
}

function score() {
  const { hands, total, mean, interval } = table.score;
  const [low, high] = interval;
  return h("dl", { class: "facts score", "aria-label": "Score" },
    h("div", {}, h("dt", {}, "hands"), h("dd", {}, String(hands))), h("div", {}, h("dt", {}, "total"), h("dd", {}, chips(total))),
    h("div", {}, h("dt", {}, "per hand"), h("dd", {}, hands ? signed(mean, 2) : "–")),
    h("div", { title: "95% confidence interval of your mean result per hand. It is wide after few hands." }, h("dt", {}, "95% interval"), h("dd", {}, low === null ? "–" : `${signed(low, 2)} to ${signed(high, 2)}`)));
}

const isShow = (event) => event.word.startsWith("seat ") && event.word.includes(" shows ");
function shownCards() {
  const found = {};
  for (const event of table.events) {
    const match = /^seat (\d+) shows (.+)$/.exec(event.word);
    if (match) found[Number(match[1])] = isCards(match[2]) ? cardsOf(match[2]) : match[2].split(" ");
  }
  return found;
}
const trickGame = () => table.game.startsWith("toepen");

function lastWord(seat) {
  const since = table.events.map((e) => e.seat === -1 && !isShow(e)).lastIndexOf(true);
  const said = table.events.slice(since + 1).filter((e) => e.seat === seat);
  return said.length ? said[said.length - 1].text : "";
}

function seatBox(seat) {
  const mine = seat === table.seat;
  const shown = shownCards();
  const count = mine || !table.has_view ? 0 : table.game.includes("holdem") ? 2 : trickGame() ? Math.max(0, 4 - table.events.filter((e) => e.seat === seat && isCards(e.word)).length) : 1;
  const folded = table.events.some((e) => e.seat === seat && e.word === "fold");
  const left = mine ? table.private.filter((name) => !trickGame() || !table.events.some((e) => e.seat === seat && e.word === name)) : null;
  const held = mine && !table.has_view ? left.map((text) => h("span", { class: "word" }, text)) : mine ? cards(left) : shown[seat] ? cards(shown[seat]) : Array.from({ length: count }, () => card(null));
  const turn = !table.over && mine;
  return h("section", { class: `seat${mine ? " mine" : ""}${turn ? " turn" : ""}${folded ? " folded" : ""}`, "aria-label": mine ? "You" : table.names[seat] },
    h("div", { class: "cardrow" }, held), h("div", { class: "seatname" }, h("strong", {}, mine ? "You" : table.names[seat]), h("span", { class: "hint" }, `seat ${seat}${table.paid ? ` · put in ${table.paid[seat]}` : ""}`)),
    h("div", { class: "word" }, lastWord(seat) ? wordNode(lastWord(seat)) : "\u00a0"));
}

function middle() {
  const board = table.events.filter((e) => e.seat === -1 && !isShow(e)).map((e) => e.word);
  const pot = table.facts.find((fact) => fact.name === "pot");
  const played = trickGame() ? trick() : [];
  return h("div", { class: "middle" }, h("div", { class: "cardrow board", "aria-label": "The board" }, trickGame() ? played : board.length ? cards(board) : table.has_view ? h("span", { class: "slot", "aria-hidden": "true" }) : null),
    h("div", { class: "pot" }, pot ? `pot ${pot.text}` : trickGame() ? `stake ${1 + table.events.filter((e) => e.word === "call").length}` : "\u00a0"));
}

function trick() {
  const played = table.events.filter((e) => isCards(e.word));
  const from = Math.max(0, Math.floor((played.length - 1) / 2) * 2);
  return played.slice(from).map((e) => h("span", { class: "played" }, card(e.word), h("span", { class: "hint" }, e.seat === table.seat ? "you" : "it")));
}

function moves() {
  if (table.over) {
    return h("div", { class: "moves" }, h("p", { class: "result" }, result()), h("button", { class: "main", type: "button", id: "next", onclick: next }, "Next hand ", h("kbd", {}, "n")));
  }
  const buttons = table.actions.map((action, k) => {
    const key = letter(action.label) || (k < 9 ? String(k + 1) : "");
    const kind = action.label === "fold" ? "fold" : /^(call|check|pass)/.test(action.label) ? "call" : /^(raise|bet)/.test(action.label) ? "raise" : "";
    return h("button", { class: `move ${kind}`, type: "button", "data-action": action.name, onclick: () => act(action.name) }, wordNode(isCards(action.name) ? action.name : action.label), " ", h("kbd", {}, key));
  });
  const made = h("div", { class: "moves" }, h("div", { class: "buttons", role: "group", "aria-label": "Your actions" }, buttons));
  if (table.sizes) {
    const [low, high] = table.sizes;
    const box = h("input", { type: "number", min: low, max: high, value: low, id: "size", "aria-label": "Raise to", required: true });
    made.append(h("form", { class: "sizes", onsubmit: (event) => { event.preventDefault(); act(`r${Number(box.value)}`); } },
      h("label", {}, "Raise to ", box), h("button", { class: "move raise", type: "submit" }, "Raise"), h("span", { class: "hint" }, `${low.toLocaleString("en")} to ${high.toLocaleString("en")}`)));
  }
  return made;
}
const result = () => (table.payoff > 0 ? `You win ${chips(table.payoff).slice(1)}.` : table.payoff < 0 ? `You lose ${chips(table.payoff).slice(1)}.` : "You neither win nor lose.");

function log() {
  return h("section", { class: "panel log", "aria-label": "Actions so far" }, h("h2", {}, `Hand ${table.hand + 1}`), h("ol", {}, table.events.map((event) =>
    h("li", {}, h("span", { class: "who" }, event.seat < 0 ? "" : event.seat === table.seat ? "you" : table.players > 2 ? `seat ${event.seat}` : "it"), showWord(event)))));
}
function showWord(event) {
  const match = /^seat (\d+) shows (.+)$/.exec(event.word);
  if (!match) return h("span", {}, isCards(event.word) ? wordNode(event.word) : event.text);
  return h("span", {}, `${Number(match[1]) === table.seat ? "you show" : `seat ${match[1]} shows`} `, wordNode(match[2]));
}

const after = (words) => h("p", { class: "hint" }, words.length ? ["after ", words.map((word, k) => [k ? " " : "", wordNode(word)])] : "at the start");

function reviewPanel() {
  const box = h("section", { class: "panel review", "aria-label": "What the strategy would have done" }, h("h2", {}, "What the strategy would have done"));
  if (!table.over) { box.append(h("p", { class: "hint" }, "After the hand, this shows what the strategy would have done in your place, and its belief about your hand.")); return box; }
  if (!review) { box.append(h("p", { class: "hint" }, `Asking the strategy… ${SLOW}`)); return box; }
  box.append(h("p", { class: "hint" }, `How often ${review.name} would have chosen each action with your cards.`));
  if (!review.would.length) box.append(h("p", {}, "You had no decision to make."));
  for (const each of review.would) {
    box.append(h("div", { class: "decision" }, after(each.after),
      bars(each.actions, each.p, colours(each.names), { chosen: each.chosen })));
  }
  const belief = review.belief;
  box.append(h("h2", {}, "Its belief about your hand"));
  if (belief.layout === "text") box.append(...belief.text.map((line) => h("p", {}, line)));
  else {
    const cells = belief.cells.map((cell) => ({ ...cell, count: combos(cell.name) }));
    const own = belief.cells.find((cell) => cell.name === belief.own);
    const line = h("p", { class: "hint one" }, own ? `Your ${cardText(belief.own)}: probability ${percent(own.weight)} at the end of the hand.` : "");
    box.append(h("p", { class: "hint" }, "The probability of each hand you could have, given all public actions and cards. Your hand has a frame."),
      grid(cells, belief.layout, { label: "Its belief about your hand", paint: heat(cells), chosen: belief.own, kind: "heat", tell: (cell) => { line.textContent = `${cardText(cell.name)}: ${percent(cell.weight)}`; } }), line);
  }
  for (const shown of review.shown) {
    if (!shown.rows.length) continue;
    box.append(h("h2", {}, `${shown.name} with `, h("span", {}, shown.held.map(cardText).join(" "))));
    for (const row of shown.rows) {
      box.append(h("div", { class: "decision" }, after(row.after), bars(row.actions, row.p, colours(row.names), { chosen: row.chosen, who: "it" })));
    }
  }
  return box;
}

function draw() {
  const held = document.activeElement && document.activeElement.id;
  const others = Array.from({ length: table.players - 1 }, (_, k) => (table.seat + 1 + k) % table.players);
  host.replaceChildren(h("div", { class: "table" },
    h("div", { class: "tablehead" }, h("h1", {}, gameName(table.game)), score()),
    h("div", { class: "tablemain" }, h("div", { class: "felt" }, h("div", { class: "others" }, others.map(seatBox)), middle(), seatBox(table.seat)), moves()),
    h("div", { class: "beside" }, log(), reviewPanel()),
    h("details", { class: "panel rules" }, h("summary", {}, "Rules and keys"), h("p", { class: "pre" }, table.help), h("p", { class: "hint" }, "Keys: f folds, c checks or calls, r bets or raises, a digit chooses the action with that number, n deals the next hand."),
      h("p", {}, h("button", { class: "quiet", type: "button", onclick: async () => { try { await api(`tables/${encodeURIComponent(table.id)}`, undefined, "DELETE"); } catch { /* the server removes it after a while */ } table = null; go("/play"); } }, "Leave the table")))));
  if (held) { const again = document.getElementById(held); if (again) again.focus({ preventScroll: true }); }
}

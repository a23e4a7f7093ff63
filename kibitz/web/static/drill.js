// Playing a solved spot against its solution, with a score of what decisions lost.
import { api, bars, card, cardText, cards, cardsOf, colours, h, percent, problem, say, signed } from "./dom.js";

let hand = null;
let seat = 0;
let busy = false;
let current = "";
let host = null;

export async function drill(main, id) {
  host = main;
  if (current !== id) { hand = null; current = id; }
  document.addEventListener("keydown", keys);
  try {
    if (!hand) await deal();
    else draw();
  } catch (error) { main.replaceChildren(problem(error, "/spots")); }
  document.title = "Play a spot · kibitz";
  return () => document.removeEventListener("keydown", keys);
}

const at = (path) => `spots/${encodeURIComponent(current)}/${path}`;
const here = () => location.pathname === `/spots/${encodeURIComponent(current)}/play`;
async function deal() { hand = await api(at("hands"), { seat }); if (here()) draw(); }

async function change(work) {
  if (busy) return;
  busy = true;
  try { await work(); } catch (error) { if (here()) host.append(problem(error)); } finally { busy = false; }
}
const act = (action) => change(async () => {
  hand = await api(at("act"), { hand: hand.hand, decision: hand.decision, action });
  if (here()) draw();
});
const next = () => change(deal);

function keys(event) {
  if (!here()) { document.removeEventListener("keydown", keys); return; }
  if (!hand || event.repeat || event.metaKey || event.ctrlKey || event.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
  if (hand.over) { if (event.key === "n") { event.preventDefault(); next(); } return; }
  const k = Number(event.key) - 1;
  if (hand.actions[k]) { event.preventDefault(); act(hand.actions[k]); }
}

const chips = (x) => String(Number(x.toFixed(2)));

function draw() {
  const { score } = hand;
  const fact = (name, text, title) => h("div", { title }, h("dt", {}, name), h("dd", {}, text));
  const steps = hand.line ? hand.line.split(", ") : [];
  const own = cardsOf(hand.cards), other = hand.over && !hand.folded ? cardsOf(hand.other) : [null, null];
  const moves = hand.over
    ? h("div", { class: "moves" }, h("p", { class: "result" }, `You win ${chips(hand.payoff)} of a pot of ${chips(hand.pot)}.${hand.folded ? ` The opponent held ${cardText(hand.other)}.` : ""}`), h("p", {}, h("button", { class: "main", type: "button", "data-key": "next", onclick: next }, "Next hand ", h("kbd", {}, "n"))))
    : h("div", { class: "moves" }, h("div", { class: "buttons", role: "group", "aria-label": "Your action" }, hand.actions.map((action, k) => h("button", { class: "move", type: "button", "data-key": `m${k}`, onclick: () => act(action) }, action, " ", h("kbd", {}, String(k + 1))))));
  const review = hand.over ? h("section", { class: "panel", "aria-label": "Your decisions" }, h("h2", {}, "Your decisions"), hand.choices.length ? hand.choices.map((choice) => {
    const of = colours(choice.actions);
    return h("div", { class: "choice" }, h("h3", {}, cardText(choice.board.join(" ")), h("span", { class: "hint" }, ` ${choice.line || "first decision"}, pot ${chips(choice.pot)}`)),
      h("p", {}, choice.lost <= 0.002 * choice.pot ? "A best action." : `This lost ${chips(choice.lost)} chips, ${percent(choice.lost / choice.pot, 1)} of the pot.`),
      bars(choice.actions, choice.shares, of, { chosen: choice.chosen, values: choice.values }));
  }) : h("p", { class: "hint" }, "You had no decision in this hand.")) : null;
  const pick = h("select", { "data-key": "seat", onchange: (event) => { seat = Number(event.target.value); next(); } }, ["Out of position (OOP)", "In position (IP)"].map((name, k) => h("option", { value: String(k), selected: k === hand.seat }, name)));
  const key = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.key : null;
  host.replaceChildren(h("div", { class: "look drill" },
    h("div", { class: "tablehead" }, h("h1", {}, "Play this spot"), h("dl", { class: "facts score" }, fact("hands", String(score.hands)), fact("best decisions", score.decisions ? `${score.best} of ${score.decisions}` : "–"),
      fact("EV lost per hand", score.hands ? chips(score.lost / score.hands) : "–", "What your decisions lost against the best actions, in chips; luck does not count"), fact("won per hand", score.hands ? signed(score.won / score.hands, 2) : "–", "Chips, with luck")),
    h("label", { class: "field" }, h("span", {}, "You are"), pick), h("span", { class: "tabs" }, h("a", { href: `/spots/${encodeURIComponent(current)}`, "data-link": true }, "look at the solution"))),
    h("div", { class: "felt" }, h("div", { class: "seat" }, h("div", { class: "seatname" }, h("strong", {}, "The solution")), h("div", { class: "cardrow" }, other.map((name) => card(name)))),
      h("div", { class: "middle" }, h("div", { class: "cardrow board" }, cards(hand.board)), h("p", { class: "num" }, `Pot ${chips(hand.pot)}, behind ${chips(Math.min(...hand.stacks))}`), h("p", { class: "hint" }, steps.length ? steps.map(cardText).join(", ") : "No action yet.")),
      h("div", { class: "seat mine turn" }, h("div", { class: "seatname" }, h("strong", {}, `You, ${hand.player}`)), h("div", { class: "cardrow" }, own.map((name) => card(name)))), moves), review));
  const again = key && host.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (again) again.focus({ preventScroll: true });
  say(hand.over ? `You win ${chips(hand.payoff)}.` : "Your turn.");
}

"""The page in a real browser: every view opened, clicked through, and compared with what the addresses say."""

from __future__ import annotations

import importlib
import os
import threading
from urllib.parse import urlparse

import pytest

import kibitz
from kibitz.bench.screens import PHONE, WIDE, browser
from kibitz.solvers import RunOptions
from kibitz.stitch.auto import Effort, Limits
from kibitz.web.app import app_of
from kibitz.web.library import Library
from kibitz.web.serve import bound

NEEDED = bool(os.environ.get("KIBITZ_NEED_BROWSER"))  # .ci/run: without a browser these fail
api = importlib.import_module("playwright.sync_api") if NEEDED else pytest.importorskip("playwright.sync_api")
CHROMIUM = browser()
pytestmark = pytest.mark.skipif(CHROMIUM is None and not NEEDED, reason="no browser is installed")
TOKEN = "a-token-of-tests"
# Counts what moves without being asked to, from the first paint on.
SHIFTS = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) window.moved += e.value;
}).observe({ type: 'layout-shift', buffered: true });
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A server in a thread, on strategies that take no time."""
    import uvicorn

    folder = tmp_path_factory.mktemp("site")
    game = kibitz.game("leduc")
    base = kibitz.solve(game, "cfr+", iterations=20, abstraction="J.QK")
    base.save(folder / "base.profile")
    effort = Effort(insides=("suits",), seats=("all",), iterations=10, pilot=3, cuts=8)
    kibitz.stitch_auto(game, base, Limits(rounds=1), effort).profile.save(folder / "auto.profile")
    leduc = kibitz.solve(game, "cfr+", iterations=60, run=RunOptions(folder / "leduc.checkpoint"))
    leduc.save(folder / "leduc.profile")
    river = kibitz.spot("Qs Jh 2h 5c 5d", ["AA, QJs, T9s", "KK, AQ"], 100, 200)
    kibitz.save_spot(kibitz.solve_spot(river, iterations=50), folder / "river.spot")
    three = kibitz.multiway("Qs Jh 2h 5c", ["AA, T9s", "KK, AQs", "QQ, KJs"], 90, 60, "50%", "none")
    kibitz.save_multiway(kibitz.solve_multiway(three, iterations=500, deals=4096, threads=1), folder / "three.spot")
    log = '{"iteration": 1, "seconds": 1, "gap": 0.5}\n{"iteration": 20, "seconds": 2, "gap": 0.1}\n'
    (folder / "<img src=x onerror=alert(1)>.jsonl").write_text(log, encoding="utf-8")
    os.utime(folder / "<img src=x onerror=alert(1)>.jsonl", (1, 1))  # the oldest
    library, listening = Library(folder), bound("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = app_of(library, TOKEN, port, seeds=lambda: 3)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)
    listening.close()
    library.pool.shutdown()


@pytest.fixture(scope="module")
def chromium():
    assert CHROMIUM is not None, "KIBITZ_NEED_BROWSER is set, and there is no browser: apt-get install chromium"
    with api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


class Visit:
    """A page, and what it asked for and complained of."""

    def __init__(self, chromium, site, size=WIDE, scheme="light"):
        viewport = {"width": size[0], "height": size[1]}
        self.context = chromium.new_context(viewport=viewport, color_scheme=scheme)
        self.page, self.site = self.context.new_page(), site
        self.asked, self.wrong = [], []
        self.page.add_init_script(SHIFTS)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.set_default_timeout(300_000)  # what is compiled on first use takes long on a busy machine
        self.page.goto(f"{site}/?token={TOKEN}")

    def go(self, path):
        self.page.goto(f"{self.site}{path}")
        return self.page

    def data(self, path):
        return self.page.evaluate(f"fetch('/api/{path}').then((answer) => answer.json())")

    def id(self, name):
        return next(each["id"] for each in self.data("library")["strategies"] if each["name"] == name)

    def check(self):
        """Nothing left this machine, nothing failed, nothing moved, nothing is wider than the page."""
        assert self.wrong == []
        assert {urlparse(url).hostname for url in self.asked} == {"127.0.0.1"}
        assert self.page.evaluate("window.moved") < 0.02
        wide, seen = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= seen


@pytest.fixture(params=[(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone-dark"])
def visit(request, chromium, site):
    made = Visit(chromium, site, *request.param)
    yield made
    made.context.close()


def test_look(visit):
    page = visit.page
    id = visit.id("leduc")
    page.get_by_label("Strategy").select_option(id)
    page.wait_for_url(f"**/look/{id}")
    page.locator(f'.action[href^="/look/{id}/"]').first.wait_for()  # what stood there before leads elsewhere
    for word in ("bet", "call"):
        page.locator(".action", has_text=word).first.click()
        page.locator(".crumbs li", has_text=word).wait_for()
    page.get_by_role("link", name="Q♠").click()
    page.wait_for_url(f"**/look/{id}/raise/call/Qs")
    page.locator(".strategy .cell").first.wait_for()
    node = visit.data(f"look/{id}?step=raise&step=call&step=Qs")
    cells = page.locator(".strategy .cell")
    assert cells.count() == len(node["cells"]) == 5
    for k, cell in enumerate(node["cells"]):
        said = cells.nth(k).get_attribute("aria-label")
        for action, p in zip(node["actions"], cell["p"], strict=True):
            assert f"{action['label']} {shown(p)}" in said
    cells.first.hover()
    box = page.locator(".strategy .detail")
    assert f"{100 * node['cells'][0]['weight']:.0f}% of the range" in box.inner_text()
    facts = page.locator(".where").inner_text()
    assert f"{node['value']:+.3f}".replace("-", "−") in facts and f"{100 * node['reach']:.1f}%" in facts
    assert page.locator(".range").count() == 2
    page.keyboard.press("Tab")
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.name") == node["cells"][1]["name"]
    page.go_back()
    page.wait_for_url(f"**/look/{id}/raise/call")
    visit.check()


def shown(p):
    x = 100 * p
    return "<0.1%" if 0 < x < 0.05 else f"{x:.{1 if 0 < x < 9.95 else 0}f}%"


def test_compare_and_list(visit):
    one, other = visit.id("leduc"), visit.id("base")
    page = visit.go(f"/look/{one}?with={other}")
    page.locator(".apart .cell").first.wait_for()
    both = visit.data(f"look/{one}?with={other}")
    assert page.locator(".strategy").count() == 2
    for k, cell in enumerate(both["difference"]["cells"]):
        assert f"{shown(cell['distance'])} apart" in page.locator(".apart .cell").nth(k).get_attribute("aria-label")
    visit.check()
    page.get_by_role("link", name="list").click()
    page.locator(".infoset").first.wait_for()
    rows = visit.data(f"infosets/{one}?seat=0")["rows"]
    assert page.locator(".infoset code").first.inner_text() == rows[0]["infoset"]
    visit.check()


def test_grid_and_boards(visit):
    page = visit.go("/look/uniform-limit-2")
    page.locator(".cells.grid .cell").first.wait_for()
    assert page.locator(".strategy .cells.grid .cell").count() == 169
    page.locator(".action", has_text="call").click()
    page.locator(".action", has_text="check").click()
    page.get_by_role("button", name="Deal at random").click()
    page.locator(".strategy .cell").first.wait_for()
    assert len(urlparse(page.url).path.split("/")[-1]) == 6
    assert page.locator(".where .card").count() == 3
    visit.check()


def test_play_by_keys_alone(visit):
    page = visit.go("/play?game=leduc")
    page.get_by_label("Opponent").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator(".felt").wait_for()
    table = page.url.rpartition("/")[2]
    for hand in range(3):
        while not (data := visit.data(f"tables/{table}"))["over"]:
            assert page.locator(".move").count() == len(data["actions"])
            before = page.locator(".log li").count()
            page.keyboard.press("c" if hand < 2 else "1")
            page.locator(".log li").nth(before).wait_for()
        page.locator("#next").wait_for()
        page.locator(".review .cells").wait_for()
        won = (
            "neither win nor lose"
            if data["payoff"] == 0
            else f"{'win' if data['payoff'] > 0 else 'lose'} {abs(data['payoff']):g}"
        )
        assert f"You {won}." in page.locator(".result").inner_text()
        review = visit.data(f"tables/{table}/review")
        shown = sum(len(each["rows"]) for each in review["shown"])
        assert page.locator(".review .decision").count() == len(review["would"]) + shown
        own = page.locator(".review .cell.own").get_attribute("data-name")
        assert own == data["private"][0] == review["belief"]["own"]
        page.keyboard.press("n")
        page.locator("#next").wait_for(state="detached")
    score = page.locator(".score").inner_text()
    assert "3" in score and " to " in score  # an interval after two hands
    page.reload()  # the table has an address
    page.locator(".felt").wait_for()
    visit.check()


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "game",
    [
        "poker(file=holdem.limit.3p)",
        "toepen",
        pytest.param("rhode_island", marks=SLOW),
        pytest.param("poker(file=holdem.nolimit.2p)", marks=SLOW),
    ],
)
def test_other_tables(chromium, site, game):
    visit = Visit(chromium, site, PHONE)
    page = visit.go(f"/play?game={game}")
    page.get_by_role("button", name="Start").click()
    page.locator(".felt").wait_for()
    for _ in range(60):
        if page.locator("#next").count():
            break
        before = page.locator(".log li").count()
        page.locator(".move").first.click()
        page.locator(".log li").nth(before).wait_for()
    page.locator("#next").click()
    page.locator(".move").first.wait_for()
    visit.check()
    visit.context.close()


def test_runs(visit):
    page = visit.go("/runs")
    page.locator(".chart .line").wait_for()
    run = visit.data("runs")["runs"][0]
    assert run["name"] == "leduc" and "leduc" in page.locator(".runlist").inner_text()
    page.get_by_role("link", name="seconds").click()
    page.wait_for_url("**?x=seconds")
    visit.check()
    page.get_by_role("link", name="Crosstable of saved strategies").click()
    page.get_by_role("button", name="Compute").wait_for()
    assert page.get_by_label("Game").input_value() == "leduc"
    for name in ("leduc", "base"):
        page.get_by_label(name, exact=True).check()
    page.get_by_role("button", name="Compute").click()
    page.locator(".cross td").first.wait_for()
    ids = "&".join(f"id={each}" for each in page.url.split("id=")[1:])
    table = visit.data(f"crosstable?{ids.replace('&&', '&')}")
    said = f"{table['matrix'][0][1]:+.3f}".replace("-", "−")
    assert said in page.locator(".cross").inner_text()
    visit.check()


def test_errors_have_a_page(visit):
    page = visit.go("/look/nothing")
    page.get_by_role("alert").wait_for()
    page = visit.go("/play/table/gone")
    assert "gone" in page.get_by_role("alert").inner_text()


def test_addresses_that_are_no_text(visit):
    page = visit.go("/look/%E0%A4%A")
    page.get_by_role("alert").wait_for()
    assert all("404" in said for said in visit.wrong)


def test_late_answers_change_nothing(chromium, site):
    """Answers that come after another view was chosen: held back here until that view stands."""
    visit = Visit(chromium, site)
    page, held = visit.page, []
    page.route("**/api/tables/*/review", lambda route: held.append(route))
    visit.go("/play?game=leduc")
    page.get_by_role("button", name="Start").click()
    page.locator(".move").first.wait_for()
    while not page.locator("#next").count():
        before = page.locator(".log li").count()
        page.locator(".move[data-action=call]").click()
        page.locator(".log li").nth(before).wait_for()
    page.get_by_text("Asking the strategy").wait_for()
    page.get_by_role("link", name="Strategies", exact=True).click()
    page.locator(".look").wait_for()
    with page.expect_response("**/review"):
        held[0].continue_()
    slow = []
    page.route("**/api/look/**", lambda route: slow.append(route))
    page.locator(".action").first.click()
    page.wait_for_url("**/look/*/*")
    page.get_by_role("link", name="Runs", exact=True).click()
    page.locator(".runlist").wait_for()
    assert page.locator(".table").count() == 0
    with page.expect_response("**/api/look/**"):
        slow[0].continue_()
    page.get_by_role("link", name="seconds").click()
    page.wait_for_url("**?x=seconds")
    assert page.locator(".look").count() == 0 and page.locator(".runs").count() == 1
    assert visit.wrong == []
    visit.context.close()


def test_a_click_is_not_lost_to_what_is_drawn_meanwhile(chromium, site):
    """The list of runs is redrawn while the button is down: the click still follows the link."""
    visit = Visit(chromium, site)
    page = visit.go("/runs")
    page.locator(".chart .line").wait_for()
    link = page.get_by_role("link", name="Crosstable of saved strategies")
    box = link.bounding_box()
    page.evaluate("[...document.querySelectorAll('.runlist')].forEach((each) => { each.dataset.old = 'yes'; })")
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    with page.expect_response(lambda answer: "/api/runs/" in answer.url):
        page.evaluate("document.querySelector('[data-key=seconds]').click()")  # draws the other axis
    page.wait_for_timeout(300)
    assert page.locator(".runlist[data-old]").count() == 1
    page.mouse.up()
    page.get_by_role("button", name="Compute").wait_for()
    visit.check()
    visit.context.close()


def test_a_key_that_is_held_acts_once(chromium, site):
    visit = Visit(chromium, site)
    page = visit.go("/play?game=leduc")
    page.get_by_role("button", name="Start").click()
    page.locator(".move").first.wait_for()
    held = "new KeyboardEvent('keydown', { key: 'c', repeat: true, bubbles: true })"
    sent = len([url for url in visit.asked if url.endswith("/act")])
    page.evaluate(f"document.body.dispatchEvent({held})")
    assert page.locator(".moves [aria-disabled]").count() == 0  # nothing was sent
    assert len([url for url in visit.asked if url.endswith("/act")]) == sent
    visit.context.close()


def test_names_are_text_and_nothing_else(visit):
    page = visit.go("/runs")
    page.locator(".runlist").get_by_text("<img src=x onerror=alert(1)>").first.wait_for()
    page.get_by_role("link", name="<img src=x").first.click()
    page.locator(".keys").get_by_text("<img").wait_for()
    assert page.locator("main img").count() == 0
    visit.check()


def test_light_and_dark(chromium, site):
    visit = Visit(chromium, site)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = visit.page.evaluate(paper)
    button = visit.page.locator("#theme")
    button.click()
    button.click()
    assert button.get_attribute("aria-label") == "Colours: dark" and visit.page.evaluate(paper) != light
    visit.page.reload()
    visit.page.locator(".look").wait_for()
    assert visit.page.evaluate(paper) != light
    visit.context.close()


def test_nothing_without_the_token(chromium, site):
    context = chromium.new_context()
    page = context.new_page()
    assert page.goto(site).status == 403 and "kibitz ui" in page.inner_text("body")
    context.close()


def test_the_plan_of_automatic_stitching(visit):
    id = visit.id("auto")
    page = visit.go(f"/look/{id}?view=plan")
    page.locator("h1", has_text="Where automatic stitching put experts").wait_for()
    data = visit.data(f"plan/{id}")
    assert page.locator("svg.plan rect").count() == len(data["parts"])
    assert page.locator(".plantable tbody tr").count() == len(data["parts"]) + len(data["others"])
    assert page.locator(".plantable tr.chosen").count() == sum(
        bool(part["expert"]) for part in (*data["parts"], *data["others"])
    )
    before = page.locator("svg.plan rect").first.get_attribute("fill-opacity")
    page.get_by_role("button", name="infosets").click()
    page.locator("svg.plan[aria-label*='infosets']").wait_for()
    assert page.locator("svg.plan text").count() > 0 and before is not None
    if folder := os.environ.get("KIBITZ_SCREENS"):
        page.get_by_role("button", name="NashConv lost").click()
        page.screenshot(path=f"{folder}/plan-{page.viewport_size['width']}.png", full_page=True)
    page.get_by_role("link", name="tree", exact=True).click()
    page.locator(".crumbs").wait_for()
    visit.check()

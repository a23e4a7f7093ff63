"""Spots in a real browser: of two players, of three, and before the flop."""

from __future__ import annotations

from test_web_browser import chromium, pytestmark, site, visit

__all__ = ["chromium", "pytestmark", "site", "visit"]  # fixtures


def test_a_saved_spot_is_opened(visit):
    page = visit.go("/spots")
    page.get_by_role("link", name="river", exact=True).click()
    page.locator("h1", has_text="OOP to act").wait_for()
    page.locator('.strategy [data-name="AA"]').wait_for()
    page.reload()  # the address stays good
    page.locator("h1", has_text="OOP to act").wait_for()
    visit.check()


def test_a_solve_is_stopped_and_kept(visit):
    page = visit.go("/spots")
    page.locator("details summary", has_text="More").click()
    page.get_by_label("Target").fill("0.001")
    page.get_by_label("Seconds").fill("3000")
    page.locator('.boardpick [data-name="6c"]').click()
    page.get_by_role("button", name="Solve").click()
    page.locator("h1", has_text="Solving").wait_for()
    page.locator(".convergence svg").wait_for(timeout=180_000)
    page.get_by_role("button", name="Stop and keep").click()
    page.locator("h1", has_text="OOP to act").wait_for(timeout=60_000)
    note = page.locator(".where .hint", has_text="Stopped before the target of 0.001% of the pot")
    note.wait_for()
    id = page.url.rpartition("/")[2].partition("?")[0]
    share = visit.data(f"spots/{id}")["exploitability"]
    assert share > 1e-6
    assert f"{100 * share:.3g}%" in page.locator(".facts").inner_text()
    visit.check()


def test_spots(visit):
    """From the form to an answer and a hand: a range is painted, a mistake is pointed at, a spot is solved."""
    page = visit.go("/spots")
    field = page.get_by_label("Out of position (OOP) range", exact=True)
    field.fill("AA, ZZ")
    page.locator(".carets", has_text="^").first.wait_for()
    field.fill("AA, KK")
    first = page.locator(".editor").first
    first.locator('[data-name="AA"][aria-pressed="true"]').wait_for()
    first.locator('[data-name="QJs"]').click()
    assert field.input_value() == "KK+, QJs"
    first.locator('[data-name="QJs"]').focus()
    page.keyboard.press(" ")
    assert field.input_value() == "KK+"
    for name in ("6c", "2d"):
        page.locator(f'.boardpick [data-name="{name}"]').click()
    page.get_by_role("button", name="Solve").click()
    page.locator(".strategy .cell").first.wait_for()
    id = page.url.rpartition("/")[2].partition("?")[0]
    page.locator('.strategy [data-name="AA"]').hover()
    page.locator(".hands tbody tr").first.wait_for()
    assert page.locator(".hands tbody tr").count() == 6
    page.get_by_role("button", name="EV", exact=True).click()
    page.locator(".strategy .heat").wait_for()
    page.locator(".action", has_text="check").click()
    page.locator("h1", has_text="IP to act").wait_for()
    answer = visit.data(f"spots/{id}/node?line=check")
    assert page.locator(".action").count() == len(answer["actions"])
    page.get_by_role("link", name="play this spot").click()
    page.locator(".drill").wait_for()
    while page.locator(".move").count():
        before = page.locator(".drill").inner_text()
        page.keyboard.press("1")
        page.wait_for_function("(before) => document.querySelector('.drill').innerText !== before", arg=before)
    page.locator(".choice, .hint", has_text="decision").first.wait_for()
    page.keyboard.press("n")
    page.locator(".score", has_text="1").wait_for()
    visit.wrong = [each for each in visit.wrong if "400" not in each]  # the mistake in a range
    visit.check()


def test_three_players(visit):
    """From the form to an answer: what is known of it is said, and no equity or play that there is not."""
    page = visit.go("/spots")
    assert page.locator('.kinds [aria-pressed="true"]').inner_text() == "Two players"  # the usual one
    page.get_by_role("button", name="Three players").click()
    page.get_by_label("Second (MID) range", exact=True).wait_for()
    page.locator(".hint", has_text="no guarantee to come near an equilibrium").wait_for()
    assert page.locator(".editor").count() == 3
    page.locator("details summary", has_text="More").click()
    page.get_by_label("Seconds").fill("2")
    page.get_by_role("button", name="Solve").click()
    page.locator(".facts", has_text="training takes").wait_for()
    page.locator("h1", has_text="OOP to act").wait_for()
    page.locator(".known", has_text="CFR need not converge").wait_for()
    assert page.locator(".range").count() == 3
    assert page.get_by_role("button", name="Equity").count() == 0
    assert page.get_by_role("link", name="play this spot").count() == 0
    id = page.url.rpartition("/")[2].partition("?")[0]
    data = visit.data(f"spots/{id}")
    assert f"{data['values'][1]:.2f}".rstrip("0").rstrip(".") in page.locator(".facts").inner_text()
    page.locator(".action", has_text="check").click()
    page.locator("h1", has_text="MID to act").wait_for()
    node = visit.data(f"spots/{id}/node?line=check")
    own = node["players"][1]
    assert page.locator(".strategy button.cell").count() == len(set(own["classes"]))
    page.locator(".strategy button.cell").first.hover()
    page.locator(".hands tbody tr").first.wait_for()
    visit.check()
    page.get_by_role("link", name="new spot").click()
    page.locator('.kinds [aria-pressed="true"]', has_text="Three players").wait_for()  # the form stays as it was


def test_a_saved_spot_of_three_players_has_later_streets(visit):
    page = visit.go("/spots")
    page.get_by_role("link", name="three", exact=True).click()
    for name in ("OOP", "MID", "IP"):
        page.locator("h1", has_text=f"{name} to act").wait_for()
        page.locator(".action", has_text="check").click()
    page.locator("h1", has_text="Choose a card").wait_for()
    page.locator(".runout").first.wait_for()
    assert page.locator(".runout").count() == 48
    page.get_by_role("link", name="5♦").click()
    page.locator("h1", has_text="OOP to act").wait_for()
    assert page.locator(".where .card").count() == 5
    page.locator(".strategy button.cell").first.wait_for()
    page.locator(".crumbs li", has_text="5♦").wait_for()
    visit.check()


def test_before_the_flop(visit):
    page = visit.go("/spots")
    page.get_by_role("button", name="Before the flop").click()
    opens, stacks = page.locator('input[name="opens"]'), page.locator('input[name="stacks"]')
    opens.wait_for()
    assert stacks.input_value() == "10" and opens.input_value() == "allin"  # push/fold
    opens.fill("2.5")
    page.get_by_role("button", name="Solve").click()
    page.locator(".carets", has_text="^").wait_for()  # no unit
    stacks.fill("12")
    opens.fill("2.5bb, allin")
    page.get_by_role("button", name="Solve").click()
    page.locator("h1", has_text="SB to act").wait_for()
    page.locator(".known", has_text="All cards are counted").wait_for()
    assert page.locator(".strategy button.cell").count() == 169
    page.locator('.strategy [data-name="AKs"]').hover()
    page.locator(".hands tbody tr", has_text="AKs").wait_for()
    page.locator(".action", has_text="raise 2.5").click()
    page.locator("h1", has_text="BB to act").wait_for()
    page.locator(".action", has_text="call").click()
    page.locator("h1", has_text="The flop comes").wait_for()
    page.get_by_role("button", name="Solve a flop with these ranges").click()
    page.get_by_label("Out of position (OOP) range", exact=True).wait_for()
    assert page.locator('input[name="pot"]').input_value() == "5" and stacks.input_value() == "9.5"
    for name in ("Qs", "Jh", "2h", "5c", "5d"):
        page.locator(f'.boardpick [data-name="{name}"]').click()
    page.get_by_role("button", name="Solve").click()
    page.locator("h1", has_text="OOP to act").wait_for()
    visit.wrong = [each for each in visit.wrong if "400" not in each]  # the size without a unit
    visit.check()


def test_a_gpu_is_offered_where_there_is_one(visit):
    page = visit.page
    offered = {"gpu": False}
    page.route("**/api/spots", lambda route: route.fulfill(json={"spots": [], "saved": [], **offered}))
    for gpu in (False, True):
        offered["gpu"] = gpu
        visit.go("/spots")
        page.locator("details summary", has_text="More").click()
        page.locator('input[name="seconds"]').wait_for()
        assert page.locator('select[name="device"]').count() == int(gpu)
    visit.check()


def test_what_a_solve_before_the_flop_says(visit):
    page = visit.page
    now = {"id": "x", "kind": "preflop", "title": "", "board": [], "state": "solving", "exploitability": None,
           "why": "", "points": [[12, 1.0, None]], "phase": "measuring 40%", "target": False, "until": 0.01,
           "seconds": 60, "estimate": {"nodes": 1500, "bytes": 0}, "players": ["SB", "BB"]}  # fmt: skip
    page.route("**/api/spots/x", lambda route: route.fulfill(json=now))
    visit.go("/spots/x")
    page.locator(".facts", has_text="measuring 40%").wait_for()
    said = page.locator("main").inner_text()
    assert "null" not in said and "1,500 betting nodes" in said and "exploitability" not in said
    now["target"], now["points"] = True, [[64, 0.1, 0.02], [128, 0.2, 0.004]]
    page.locator(".facts", has_text="0.004 big blinds").wait_for()
    page.locator(".convergence svg").wait_for()

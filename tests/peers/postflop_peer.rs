// Solve one post-flop spot with postflop-solver and print one line of JSON: see docs of `kibitz bench --only spots`.
// Arguments are key=value: board, oop, ip (files of 1,326 weights), pot, stack, bets, raises, target (share of the pot),
// compressed (0 or 1), iterations (at most), fixed (1: do all iterations, evaluate at the end only).
use postflop_solver::*;
use std::collections::HashMap;
use std::time::Instant;

fn main() {
    let given: HashMap<String, String> = std::env::args()
        .skip(1)
        .map(|a| {
            let (k, v) = a.split_once('=').expect("key=value");
            (k.to_string(), v.to_string())
        })
        .collect();
    let text = |k: &str, d: &str| given.get(k).cloned().unwrap_or(d.to_string());
    let number = |k: &str, d: &str| text(k, d).parse::<f64>().unwrap();
    let weights = |k: &str| {
        let data: Vec<f32> = std::fs::read_to_string(text(k, ""))
            .unwrap()
            .split_whitespace()
            .map(|x| x.parse().unwrap())
            .collect();
        Range::from_raw_data(&data).unwrap()
    };
    let board = text("board", "");
    let state = match board.len() {
        6 => BoardState::Flop,
        8 => BoardState::Turn,
        _ => BoardState::River,
    };
    let card = |at: usize| {
        if board.len() > at { card_from_str(&board[at..at + 2]).unwrap() } else { NOT_DEALT }
    };
    let cards = CardConfig {
        range: [weights("oop"), weights("ip")],
        flop: flop_from_str(&board[..6]).unwrap(),
        turn: card(6),
        river: card(8),
    };
    let sizes = BetSizeOptions::try_from((text("bets", "").as_str(), text("raises", "").as_str())).unwrap();
    let both = [sizes.clone(), sizes.clone()];
    let pot = number("pot", "200");
    let tree = TreeConfig {
        initial_state: state,
        starting_pot: pot as i32,
        effective_stack: number("stack", "900") as i32,
        rake_rate: 0.0,
        rake_cap: 0.0,
        flop_bet_sizes: both.clone(),
        turn_bet_sizes: both.clone(),
        river_bet_sizes: both,
        turn_donk_sizes: None,
        river_donk_sizes: None,
        add_allin_threshold: 0.0,
        force_allin_threshold: 0.0,
        merging_threshold: 0.0,
    };
    let began = Instant::now();
    let mut game = PostFlopGame::with_config(cards, ActionTree::new(tree).unwrap()).unwrap();
    let compressed = number("compressed", "0") > 0.0;
    let memory = game.memory_usage();
    game.allocate_memory(compressed);
    let built = began.elapsed().as_secs_f64();
    let target = (pot * number("target", "0.005")) as f32;
    let most = number("iterations", "1000") as u32;
    let fixed = number("fixed", "0") > 0.0;
    let began = Instant::now();
    let mut done = 0;
    let mut gap = if fixed { f32::MAX } else { compute_exploitability(&game) };
    while done < most && gap > target {
        solve_step(&game, done);
        done += 1;
        if (!fixed && done % 10 == 0) || (!fixed && done == most) {
            gap = compute_exploitability(&game);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    if fixed {
        gap = compute_exploitability(&game);
    }
    let ev = compute_current_ev(&game);
    println!(
        "{{\"seconds\": {}, \"iterations\": {}, \"exploitability\": {}, \"build_seconds\": {}, \"bytes\": {}, \"ev\": {}}}",
        seconds, done, gap as f64 / pot, built, if compressed { memory.1 } else { memory.0 }, ev[0] as f64 + 0.5 * pot
    );
}

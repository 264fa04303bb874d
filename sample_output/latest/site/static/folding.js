"use strict";
/* What texts and queries are compared by, and where the hits are: the rules of exporter/search/folding.py. */
window.blogFolding = (function () {
  const SPACE = "\\t-\\r \\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const SPACES = new RegExp("[" + SPACE + "]+", "g");
  const TERM = new RegExp('["“”＂]([^"“”＂]*)["“”＂]|(?:[^"“”＂' + SPACE + ']|["“”＂](?![^"“”＂]*["“”＂]))+', "g");
  const CLUSTER = /[^][\p{M}\uff9e\uff9f\u1160-\u11ff]*/gu;
  const SELECTORS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
  const NOT_WHOLE = /[^¼-¾⅐-⅟↉①-⑳Ⓐ-⓪㉄-㉇㉑-㉾㊀-㊿㋐-㋾\u{1f12b}-\u{1f12e}\u{1f130}-\u{1f149}\u{1f202}\u{1f210}-\u{1f23b}\u{1f250}\u{1f251}]+/gu;
  const MARKS = "[ー~]", LONGEST = 1000;
  const UNITS = /([ぁ-ゖゝゞァ-ヶヽヾ])([ー~]*)|[^]/gu;
  const keys = new Map();
  let folds = new Map(), unusual = null;

  /** Loads what lower-casing leaves of case folding, and the groups of kanji with one key; before that nothing can be folded. */
  async function load() {
    const [cases, groups] = await blogLoad("folds", "", "folds.js");
    folds = new Map(Object.entries(cases));
    for (const group of groups.split(" ")) {
      const [usual, ...variants] = group;
      for (const each of variants) folds.set(each, usual);
    }
    unusual = new RegExp("[" + [...folds.keys()].join("") + "]", "gu");
  }

  function fold(text) {
    const plain = text.replace(SELECTORS, "").replace(NOT_WHOLE, function (part) { return part.normalize("NFKC"); });
    return plain.toLowerCase().replace(unusual, function (each) { return folds.get(each); }).replaceAll("\u301c", "~").replace(SPACES, " ");
  }

  /** What is looked for: words with spaces between them, or phrases in quotation marks; one mark alone is a character of a word. */
  function parsed(query) {
    const found = new Set();
    for (const [word, phrase] of query.slice(0, LONGEST).matchAll(TERM)) found.add(fold(phrase ?? word).trim());
    return [...found].filter(Boolean).map(wordOf);
  }

  /**
   * A word: its key, and the same as units, each with the ways that it may be written (hiragana first), and whether a
   * long vowel is marked behind it: "" never, "+" always, "*" or not. Without similar spellings `pattern` is null.
   */
  function wordOf(key) {
    const units = [];
    let run = 0, kana = false;
    for (const [whole, letter, marks] of key.matchAll(UNITS)) {
      run = letter ? run + 1 : 0;
      const code = letter ? letter.charCodeAt(0) : 0;
      const forms = !letter ? [whole] : code < 0x30a0 ? [letter, String.fromCharCode(code + 0x60)] : [String.fromCharCode(code - 0x60), letter];
      const long = run > 1 ? "*" : marks ? "+" : "";
      if (long) run++;
      kana ||= run > 0;
      units.push({ forms, long });
    }
    const alone = units.length < 2 && !units[0]?.long;
    const source = units.map(function (unit) {
      const [first, second] = unit.forms;
      return (second ? "[" + first + second + "]" : first.replace(/[\^$\\.*+?()[\]{}|/]/, "\\$&")) + (unit.long && MARKS + unit.long);
    }).join("");
    return { key, units, pattern: !kana || alone ? null : new RegExp(source, "gu") };
  }

  /** A folded text with the places its characters come from. */
  function folded(text) {
    const starts = [], ends = [];
    let key = "";
    for (const cluster of text.matchAll(CLUSTER)) {
      if (!keys.has(cluster[0])) keys.set(cluster[0], fold(cluster[0]).split(""));
      for (const unit of keys.get(cluster[0])) {
        if (unit === " " && key.endsWith(" ")) continue;
        key += unit;
        starts.push(cluster.index);
        ends.push(cluster.index + cluster[0].length);
      }
    }
    return { key, starts, ends };
  }

  /** Where in a text as it is written the words are, in order, none in another; `loosely` in similar spellings too. */
  function spans(text, words, loosely) {
    const { key, starts, ends } = folded(text);
    const found = [];
    for (const word of words) {
      if (loosely && word.pattern) {
        for (const hit of key.matchAll(word.pattern)) found.push([starts[hit.index], ends[hit.index + hit[0].length - 1]]);
      } else {
        for (let at = key.indexOf(word.key); at >= 0; at = key.indexOf(word.key, at + word.key.length)) {
          found.push([starts[at], ends[at + word.key.length - 1]]);
        }
      }
    }
    let end = 0;
    return found.sort(function (a, b) { return a[0] - b[0] || b[1] - a[1]; }).filter(function (span) {
      if (span[0] < end) return false;
      end = span[1];
      return true;
    });
  }

  return { load, fold, parsed, spans };
})();

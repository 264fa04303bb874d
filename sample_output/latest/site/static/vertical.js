"use strict";
// An entry in columns from right to left: they fit the window, short numbers are upright, and the wheel and keys go along.
(function () {
  const html = document.documentElement;
  const entry = document.querySelector("article.entry");
  const leaf = entry.querySelector(".leaf");
  if (!leaf) return;

  /** Texts that are set upright: marks of notes, one or two digits, ! and ?. */
  const SHORT = /(?<note>\*[0-9]{1,2}|\[[0-9]{1,2}\])|(?<number>[0-9]{1,2})|[!?]{1,2}/g;
  /** Latin text before or after them; then they are a part of it. */
  const BESIDE = {
    note: { left: /["-'*->@-~]$/, right: /^[0-9]/ },
    number: { left: /["-'*->@-~] ?$/, right: /^ ?["-'*->@-~]/ },
    mark: { left: /[!-~]$/, right: /^[!-~]/ },
  };
  const HORIZONTAL = "pre, code, kbd, samp, tt, table, rt, .pictures, .card, .player, .contents, .shots, .tool";
  const onward = document.createElement("div");
  onward.className = "onward";
  onward.setAttribute("aria-hidden", "true");
  let on = false, used = false;

  function blockOf(node) {
    let each = node.parentElement;
    while (getComputedStyle(each).display.startsWith("inline")) each = each.parentElement;
    return each;
  }

  /** Returns the text that another node has in the same paragraph. */
  function continued(other, node) {
    return other?.nodeType === Node.TEXT_NODE && blockOf(other) === blockOf(node) ? other.data : "";
  }

  function shortIn(node, before, after) {
    return [...node.data.matchAll(SHORT)].filter(function ({ 0: text, index, groups }) {
      const { left, right } = BESIDE[groups.note ? "note" : groups.number ? "number" : "mark"];
      const end = index + text.length;
      const textBefore = node.data.slice(Math.max(0, index - 2), index), textAfter = node.data.slice(end, end + 2);
      return !left.test((index < 2 ? continued(before, node) : "") + textBefore)
        && !right.test(textAfter + (textAfter.length < 2 ? continued(after, node) : ""));
    });
  }

  function wrap(node, at, length) {
    const short = at ? node.splitText(at) : node;
    if (length < short.length) short.splitText(length);
    const span = document.createElement("span");
    span.className = "upright";
    short.replaceWith(span);
    span.append(short);
  }

  function setUpright() {
    const walker = document.createTreeWalker(leaf, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, function (node) {
      if (node.nodeType === Node.TEXT_NODE || node.matches("br, img")) return NodeFilter.FILTER_ACCEPT;
      return node.matches(HORIZONTAL) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    });
    const nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    const found = nodes.map(function (node, at) {
      return node.nodeType === Node.TEXT_NODE ? shortIn(node, nodes[at - 1], nodes[at + 1]) : [];
    });
    // Splitting from the end keeps the earlier positions valid.
    found.forEach(function (shorts, at) {
      for (const short of shorts.reverse()) wrap(nodes[at], short.index, short[0].length);
    });
  }

  function unsetUpright() {
    const parents = new Set();
    for (const span of leaf.querySelectorAll(".upright")) {
      parents.add(span.parentNode);
      span.replaceWith(...span.childNodes);
    }
    for (const each of parents) each.normalize();
  }

  function rest() {
    return leaf.scrollWidth - leaf.clientWidth + leaf.scrollLeft;
  }

  function fit() {
    if (!on) return;
    const margin = parseFloat(getComputedStyle(html).fontSize);
    entry.style.setProperty("--above", leaf.getBoundingClientRect().top + scrollY + margin + "px");
    if (leaf.scrollWidth > leaf.clientWidth) leaf.tabIndex = 0;
    else leaf.removeAttribute("tabindex");
    if (!used && rest() > 1) leaf.after(onward);
  }

  function turn() {
    const wanted = html.dataset.way === "vertical";
    if (wanted !== on) {
      on = wanted;
      if (on) {
        setUpright();
      } else {
        unsetUpright();
        onward.remove();
        entry.removeAttribute("style");
        leaf.removeAttribute("tabindex");
      }
    }
    fit();
  }

  function column() {
    return parseFloat(getComputedStyle(leaf).lineHeight);
  }

  /** Scrolls to the left, or to the right for a negative number; returns false at the end, so that the page scrolls instead. */
  function go(pixels, behavior = "instant") {
    if (pixels > 0 ? rest() <= 1 : leaf.scrollLeft > -1) return false;
    leaf.scrollBy({ left: -pixels, behavior });
    return true;
  }

  leaf.addEventListener("wheel", function (event) {
    const inner = event.target.closest("pre, .wide, .pictures");
    if (!on || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    if (inner && inner.scrollHeight > inner.clientHeight) return;
    if (go(event.deltaY * [1, column(), leaf.clientWidth][event.deltaMode])) event.preventDefault();
  }, { passive: false });

  addEventListener("keydown", function (event) {
    if (!on || event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, button, summary, pre, .wide, dialog[open]")) return;
    const { top, bottom } = leaf.getBoundingClientRect();
    if (bottom < innerHeight / 4 || top > innerHeight * 3 / 4) return;
    // One column remains visible.
    const page = leaf.clientWidth - column();
    const steps = {
      ArrowLeft: 2 * column(), ArrowRight: -2 * column(), PageDown: page, PageUp: -page, " ": event.shiftKey ? -page : page,
      Home: -leaf.scrollWidth, End: leaf.scrollWidth,
    };
    if (!Object.hasOwn(steps, event.key)) return;
    const calm = event.key.startsWith("Arrow") || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (go(steps[event.key], calm ? "instant" : "smooth")) event.preventDefault();
  });

  leaf.addEventListener("scroll", function () {
    if (leaf.scrollLeft > -2) return;
    used = true;
    onward.remove();
  }, { passive: true });
  addEventListener("resize", fit);
  addEventListener("load", fit);
  new MutationObserver(turn).observe(html, { attributeFilter: ["data-way", "data-size"] });
  turn();
})();

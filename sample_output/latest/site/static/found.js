"use strict";
/* On a page that the search led to: where the words are, the first of these in sight. Nothing of the page is changed. */
(async function () {
  const query = new URLSearchParams(location.search).get("q");
  const [words] = await Promise.all([blogLoad("words", "", "words.js"), blogFolding.load()]);
  const field = document.querySelector(".top input[type=search]");
  let at = 0;

  function blockOf(node) {
    let each = node.parentElement;
    while (getComputedStyle(each).display.startsWith("inline")) each = each.parentElement;
    return each;
  }

  /** The text of an element, in which a block or a line break begins a new line, and its nodes with their places. */
  function textOf(element) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    const nodes = [], starts = [];
    let text = "", block = null;
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.nodeName === "BR") text += "\n";
      if (node.nodeType !== Node.TEXT_NODE) continue;
      const own = blockOf(node);
      if (block && own !== block) text += "\n";
      block = own;
      nodes.push(node);
      starts.push(text.length);
      text += node.data;
    }
    return { text, nodes, starts };
  }

  /** The part of a page that is some part of such a text. */
  function rangeOf({ nodes, starts }, from, to) {
    const range = new Range();
    const at = function (place) {
      let low = 0;
      for (let high = starts.length; high - low > 1;) {
        const middle = (low + high) >> 1;
        if (starts[middle] <= place) low = middle;
        else high = middle;
      }
      return low;
    };
    const first = at(from), last = at(to - 1);
    range.setStart(nodes[first], Math.min(from - starts[first], nodes[first].length));
    range.setEnd(nodes[last], Math.min(to - starts[last], nodes[last].length));
    return range;
  }

  /** Where a word is; in similar spellings where it is not there as it was written. */
  function look(texts, word) {
    for (const loosely of [false, true]) {
      const found = texts.flatMap(function (each) {
        return blogFolding.spans(each.text, [word], loosely).map(function ([from, to]) { return rangeOf(each, from, to); });
      });
      if (found.length) return found;
    }
    return [];
  }

  function go(number) {
    at = (number + hits.length) % hits.length;
    bar.querySelector("span").textContent = blogNumber(at + 1) + " / " + blogNumber(hits.length);
    CSS.highlights.set("found-here", new Highlight(hits[at]));
    const { left, right } = hits[at].getBoundingClientRect();
    const leaf = hits[at].startContainer.parentElement.closest(".leaf");
    const sight = leaf?.getBoundingClientRect();
    if (sight && (left < sight.left || right > sight.right)) leaf.scrollBy({ left: (left + right - sight.left - sight.right) / 2 });
    const { top, bottom } = hits[at].getBoundingClientRect();
    if (top < 0 || bottom > innerHeight - 80) scrollBy({ top: (top + bottom - innerHeight) / 2 });
  }

  function clear() {
    CSS.highlights.clear();
    bar.remove();
    field.value = "";
    const asked = new URLSearchParams(location.search);
    asked.delete("q");
    try {
      history.replaceState(history.state, "", location.pathname + (asked.size ? "?" + asked : "") + location.hash);
    } catch {
      // The address stays as it is where pages from a folder may not change theirs.
    }
  }

  function button(text, label, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.title = label;
    made.addEventListener("click", act);
    return made;
  }

  const bar = document.createElement("div");
  const count = document.createElement("span");
  bar.className = "found";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", words.search);
  count.setAttribute("role", "status");
  bar.append(
    button("↑", words.hit_before, function () { go(at - 1); }), count, button("↓", words.hit_after, function () { go(at + 1); }),
    button("×", words.hits_clear, clear),
  );
  field.value = query;
  const texts = [...document.querySelectorAll("main h1, main .body, .more > h2, .comment .who, .comment .subject")].map(textOf);
  const hits = blogFolding.parsed(query).flatMap(function (word) { return look(texts, word); });
  hits.sort(function (a, b) { return a.compareBoundaryPoints(Range.START_TO_START, b); });
  if (!hits.length) return;
  CSS.highlights.set("found", new Highlight(...hits));
  document.getElementById("main").append(bar);
  const target = document.querySelector(":target");
  go(Math.max(0, target ? hits.findIndex(function (each) { return target.contains(each.startContainer); }) : 0));
  addEventListener("keydown", function (event) {
    if (event.key === "Escape" && !event.isComposing && bar.isConnected && !document.querySelector("dialog[open]")) clear();
  });
})();

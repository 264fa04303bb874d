"use strict";
// On the page of an entry: how its text is set, code that can be copied, and scrolling by keys where something is wide.
(function () {
  const entry = document.querySelector("article.entry");
  const html = document.documentElement;
  const choices = {
    face: ["sans", "serif"],
    size: ["small", "medium", "large", "largest"],
    way: ["horizontal", "vertical"],
  };

  let wideTable = "";
  function reachable() {
    for (const each of entry.querySelectorAll(".body pre, .body .wide")) {
      const scrolls = each.scrollWidth > each.clientWidth && getComputedStyle(each).overflowX !== "visible";
      const stated = { tabindex: "0", ...(each.matches(".wide") ? { role: "region", "aria-label": wideTable } : {}) };
      for (const [name, value] of Object.entries(stated)) {
        if (scrolls) each.setAttribute(name, value);
        else each.removeAttribute(name);
      }
    }
  }

  function set(name, value) {
    html.dataset[name] = value;
    try {
      const kept = { face: html.dataset.face, size: html.dataset.size, way: html.dataset.way };
      localStorage.setItem("blog-exporter text", JSON.stringify(kept));
    } catch {
      // It lasts as long as the page, then.
    }
    reachable();
  }

  function made(tag, properties, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  }

  function sheet(words) {
    const groups = Object.entries(choices).map(function ([name, values]) {
      const chosen = html.dataset[name] ?? (name === "size" ? "medium" : values[0]);
      const rows = values.map(function (value) {
        const input = made("input", { type: "radio", name, value, checked: value === chosen });
        input.addEventListener("change", function () { set(name, value); });
        return made("label", {}, input, " " + words["text_" + value]);
      });
      return made("fieldset", {}, made("legend", { textContent: words["text_" + name] }), ...rows);
    });
    const heading = made("h2", { id: "text-title", textContent: words.text_settings });
    const close = made("button", { type: "submit", textContent: words.close });
    const dialog = made("dialog", { className: "sheet" }, heading, made("form", { method: "dialog" }, ...groups, close));
    dialog.setAttribute("aria-labelledby", heading.id);
    document.body.append(dialog);
    return dialog;
  }

  async function copy(pre, button, status, words) {
    try {
      await navigator.clipboard.writeText(pre.textContent);
    } catch {
      getSelection().selectAllChildren(pre);
      document.execCommand("copy");
    }
    button.textContent = status.textContent = words.copied;
    setTimeout(function () {
      button.textContent = words.copy_code;
      status.textContent = "";
    }, 2000);
  }

  /** Marks in the contents where the page is: the last heading above its middle. */
  function follow(contents) {
    const links = [...contents.querySelectorAll("a")];
    const places = links.map(function (link) { return document.getElementById(decodeURIComponent(link.hash.slice(1))); });
    let current = null, asked = 0;
    function mark() {
      asked = 0;
      const above = function (place) { return place?.getBoundingClientRect().top < innerHeight / 2; };
      const found = links[html.dataset.way === "vertical" ? -1 : places.findLastIndex(above)] ?? null;
      if (found === current) return;
      current?.removeAttribute("aria-current");
      found?.setAttribute("aria-current", "true");
      current = found;
      if (found) contents.scrollTop += found.getBoundingClientRect().top - contents.getBoundingClientRect().top - contents.clientHeight / 2;
    }
    addEventListener("scroll", function () { asked ||= requestAnimationFrame(mark); }, { passive: true });
    mark();
  }

  async function start() {
    const words = await blogLoad("words", "", "words.js");
    const opens = made("button", { type: "button", className: "tool", textContent: words.text_sign, title: words.text_settings });
    let dialog = null;
    opens.setAttribute("aria-label", words.text_settings);
    opens.addEventListener("click", function () {
      dialog ??= sheet(words);
      dialog.showModal();
    });
    entry.querySelector(".title").prepend(opens);
    const status = made("p", { className: "unseen" });
    status.setAttribute("role", "status");
    entry.append(status);
    for (const pre of entry.querySelectorAll(".body pre")) {
      const button = made("button", { type: "button", textContent: words.copy_code });
      const frame = made("div", { className: "code" });
      button.addEventListener("click", function () { copy(pre, button, status, words); });
      pre.replaceWith(frame);
      frame.append(pre, button);
    }
    wideTable = words.wide_table;
    reachable();
  }

  const contents = entry.querySelector(".contents details");
  if (contents) {
    contents.open = matchMedia("(min-width: 76rem)").matches;
    follow(contents);
  }
  addEventListener("resize", reachable);
  start();
})();

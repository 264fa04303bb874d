"use strict";
(function () {
  const pictures = [...document.querySelectorAll("a[data-zoom], .body a[href*='assets/']")].filter(function (link) {
    return link.querySelector("img") && /\.(avif|bmp|gif|heic|ico|jp2|jpg|jxl|png|tif|webp)$/.test(link.href);
  });
  if (!pictures.length) return;

  function button(name, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = name;
    made.addEventListener("click", act);
    return made;
  }
  const dialog = document.createElement("dialog");
  const figure = document.createElement("figure");
  const image = document.createElement("img");
  const caption = document.createElement("figcaption");
  const told = document.createElement("span");
  const from = document.createElement("span");
  const place = document.createElement("small");
  const before = button("before", function () { show(at - 1); });
  const after = button("after", function () { show(at + 1); });
  const close = button("close", function () { dialog.close(); });
  const buttons = pictures.length > 1 ? [before, after, close] : [close];
  dialog.className = "lightbox";
  told.lang = from.lang = pictures[0].closest("[lang]").lang;
  caption.setAttribute("aria-live", "polite");
  caption.append(told, from, place);
  figure.append(image, caption);
  dialog.append(figure, ...buttons);
  document.body.append(dialog);
  blogLoad("words", "", "words.js").then(function (words) {
    const labels = [[dialog, words.picture], [before, words.picture_before], [after, words.picture_after], [close, words.close]];
    for (const [element, label] of labels) element.setAttribute("aria-label", label);
  });

  /** What the blog says about a picture: the words for it, and the entry that shows it with its date. */
  function describe(link, small) {
    const below = link.closest("figure")?.querySelector("figcaption");
    const inGallery = link.closest(".gallery");
    const article = document.querySelector("article.entry");
    told.textContent = (inGallery ? "" : below?.textContent.trim()) || (small.matches(".unnamed") ? "" : small.title || small.alt);
    told.hidden = !told.textContent;
    const title = inGallery ? below?.querySelector("a") : article?.querySelector("h1");
    const time = (inGallery ? below : article)?.querySelector("time");
    const shown = title && inGallery ? title.cloneNode(true) : title?.textContent ?? "";
    from.replaceChildren(...[shown, time?.cloneNode(true)].filter(Boolean).flatMap(function (each, at) { return at ? [" · ", each] : [each]; }));
  }

  const OUTSIDE = 0, INSIDE = 1, LEAVING = 2;
  let at = 0, step = OUTSIDE;
  function show(number) {
    at = (number + pictures.length) % pictures.length;
    const link = pictures[at];
    const small = link.querySelector("img");
    image.removeAttribute("style");
    image.src = link.href;
    image.alt = small.alt;
    describe(link, small);
    place.textContent = pictures.length > 1 ? blogNumber(at + 1) + " / " + blogNumber(pictures.length) : "";
    if (!dialog.open) {
      dialog.showModal();
      close.focus();
      // On phones a step back closes it. Where the page stands then is said by the focus, and not by where it stood before.
      if (step === OUTSIDE && matchMedia("(pointer: coarse)").matches) {
        history.scrollRestoration = "manual";
        history.pushState(null, "");
        step = INSIDE;
      }
    }
    // The next one is read while this one is looked at.
    new Image().src = pictures[(at + 1) % pictures.length].href;
  }

  pictures.forEach(function (link, number) {
    link.classList.add("zooms");
    link.addEventListener("click", function (event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(number);
    });
  });
  dialog.addEventListener("click", function (event) {
    if (event.target === figure || event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", function () {
    pictures[at].focus();
    if (step !== INSIDE) return;
    step = LEAVING;
    history.back();
  });
  addEventListener("popstate", function () {
    const closes = step === INSIDE;
    step = OUTSIDE;
    history.scrollRestoration = "auto";
    if (closes) dialog.close();
  });
  dialog.addEventListener("keydown", function (event) {
    if (event.key === "ArrowRight" || event.key === "j" || event.key === "n") show(at + 1);
    else if (event.key === "ArrowLeft" || event.key === "k" || event.key === "p") show(at - 1);
    else if (event.key === "Tab") {
      const targets = [...caption.querySelectorAll("a"), ...buttons];
      const next = targets.indexOf(document.activeElement) + (event.shiftKey ? -1 : 1);
      targets[(next + targets.length) % targets.length].focus();
    } else return;
    event.preventDefault();
  });

  // A finger moves the picture: to the sides for its neighbours, down to close. Two fingers are the browser's, and so is
  // one where they have brought the picture nearer.
  window.visualViewport?.addEventListener("resize", function () {
    figure.classList.toggle("near", visualViewport.scale > 1.01);
  });
  let start = null;
  function moved(event) {
    const touch = event.changedTouches[0];
    return [touch.clientX - start[0], touch.clientY - start[1]];
  }
  function put(x, y) {
    image.style.transform = x || y ? "translate(" + x + "px," + y + "px)" : "";
  }
  figure.addEventListener("touchstart", function (event) {
    const zoomed = window.visualViewport && visualViewport.scale > 1.01;
    start = event.touches.length === 1 && !zoomed ? [event.touches[0].clientX, event.touches[0].clientY] : null;
    put(0, 0);
  }, { passive: true });
  figure.addEventListener("touchmove", function (event) {
    if (!start) return;
    const [x, y] = moved(event);
    if (Math.abs(x) > Math.abs(y)) put(pictures.length > 1 ? x : 0, 0);
    else put(0, Math.max(0, y));
  }, { passive: true });
  figure.addEventListener("touchend", function (event) {
    if (!start) return;
    const [x, y] = moved(event);
    start = null;
    put(0, 0);
    if (Math.abs(x) > Math.max(40, Math.abs(y)) && pictures.length > 1) show(at + (x < 0 ? 1 : -1));
    else if (y > Math.max(80, Math.abs(x))) dialog.close();
  });
  figure.addEventListener("touchcancel", function () {
    start = null;
    put(0, 0);
  });
})();

"use strict";
(function () {
  const dialog = document.createElement("dialog");
  const figure = document.createElement("figure");
  const image = document.createElement("img");
  const caption = document.createElement("figcaption");
  dialog.className = "lightbox";
  dialog.setAttribute("aria-label", "picture");
  figure.append(image, caption);
  dialog.append(figure);
  document.body.append(dialog);

  const pictures = [...document.querySelectorAll("a[data-zoom], .body a[href*='assets/'], .body img")].filter(function (each) {
    return each.matches("a") ? each.querySelector("img") : !each.closest("a");
  });
  let at = 0;

  function show(number) {
    at = (number + pictures.length) % pictures.length;
    const each = pictures[at];
    const shown = each.matches("a") ? each.querySelector("img") : each;
    image.src = each.matches("a") ? each.href : each.src;
    image.alt = shown.alt;
    caption.textContent = shown.alt;
    if (!dialog.open) dialog.showModal();
  }

  pictures.forEach(function (each, number) {
    each.classList.add("zooms");
    each.addEventListener("click", function (event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(number);
    });
  });
  dialog.addEventListener("click", function () { dialog.close(); });
  dialog.addEventListener("keydown", function (event) {
    if (event.key === "ArrowRight" || event.key === "j" || event.key === "n") show(at + 1);
    else if (event.key === "ArrowLeft" || event.key === "k" || event.key === "p") show(at - 1);
    else return;
    event.preventDefault();
  });
})();

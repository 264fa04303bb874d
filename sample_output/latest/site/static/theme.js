"use strict";
// Before the page is drawn, so that it never flashes in the other brightness, or in other letters.
(function () {
  const html = document.documentElement;
  let theme = null;
  let text = null;
  try {
    theme = localStorage.getItem("blog-exporter theme");
    text = JSON.parse(localStorage.getItem("blog-exporter text"));
  } catch {
    // Some browsers keep nothing for pages opened from a folder.
  }
  if (theme === "dark" || theme === "light") html.dataset.theme = theme;
  for (const name of ["face", "size", "way"]) if (text?.[name]) html.dataset[name] = text[name];
})();

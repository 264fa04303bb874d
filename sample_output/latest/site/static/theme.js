"use strict";
// Before the page is drawn, so that it never flashes in the other brightness.
(function () {
  let theme = null;
  try {
    theme = localStorage.getItem("blog-exporter theme");
  } catch {
    // Some browsers keep nothing for pages opened from a folder.
  }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();

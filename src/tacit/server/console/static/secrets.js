// A page that shows a secret forgets it when it is left, so that going back does not show it.

"use strict";

window.addEventListener("pagehide", () => {
  for (const each of document.querySelectorAll("[data-secret]")) {
    each.value = "";
    each.removeAttribute("value");
  }
});

window.addEventListener("pageshow", (event) => {
  if (event.persisted) {
    window.location.reload();
  }
});

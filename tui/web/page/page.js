// What the page does beside textual.js, which is the terminal. The body gets its classes there.
"use strict";

// Keys are for the terminal as soon as the first screen stands.
window.addEventListener("DOMContentLoaded", () => {
  const watch = new MutationObserver(() => {
    const keys = document.querySelector(".xterm-helper-textarea");
    if (keys && document.body.classList.contains("-first-byte")) {
      watch.disconnect();
      keys.focus();
    }
  });
  watch.observe(document.body, { attributes: true });
});

// Copy and paste stay the browser's: the terminal would make control characters of them, and Ctrl+C ends the program.
window.addEventListener("keydown", (event) => {
  if (event.ctrlKey && !event.altKey && ["c", "v"].includes(event.key.toLowerCase())) {
    event.stopImmediatePropagation();
  }
}, true);

// The right button is the program's; with Shift it is the browser's.
window.addEventListener("contextmenu", (event) => {
  if (!event.shiftKey) {
    event.preventDefault();
  }
});

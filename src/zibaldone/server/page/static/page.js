// What HTML cannot do: "/" leads to the search, arrows lead through what it found, and the address says what is
// searched for, so that it can be kept and gone back to.
"use strict";
const search = () => document.querySelector("input[type=search]");
const isTyping = (element) => element.matches("input, textarea, select");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping(event.target) && search()) {
    event.preventDefault();
    search().focus();
    search().select();
    return;
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...document.querySelectorAll(".passages .where, .lines .line")];
  const at = links.indexOf(event.target);
  if (!links.length || (at < 0 && event.target !== search())) return;
  event.preventDefault();
  const next = at + (event.key === "ArrowDown" ? 1 : -1);
  (next < 0 ? search() : links[Math.min(next, links.length - 1)]).focus();
});

document.addEventListener("htmx:afterSwap", (event) => {
  const form = event.detail.requestConfig && event.detail.requestConfig.elt;
  if (!form || !form.matches("[data-keeps-address]")) return;
  const address = new URL(form.action, location.href);
  for (const [name, value] of new FormData(form)) if (value.trim()) address.searchParams.set(name, value);
  history.replaceState(history.state, "", address);
});

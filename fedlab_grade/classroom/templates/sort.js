// A click on the head of a column sorts by it, and another click the other way round.
const compare = (a, b) =>
  isNaN(a) || isNaN(b) ? a.localeCompare(b) : (a === "" ? -1 : +a) - (b === "" ? -1 : +b);
const heads = [...document.querySelectorAll("#students th")];
heads.forEach((head, at) => head.firstElementChild.addEventListener("click", () => {
  const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = document.querySelector("#students tbody");
  const text = row => row.cells[at].textContent;
  heads.forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  body.append(...[...body.rows].sort((a, b) => sign * compare(text(a), text(b))));
}));

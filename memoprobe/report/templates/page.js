"use strict";
// Sort a table by the column whose header is clicked; a missing value is always last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      sort(table.tBodies[0], column, falling ? -1 : 1);
    });
  }
}

function sort(body, column, sign) {
  const keyed = [...body.rows].map((row) => [key(row.cells[column]), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  });
  body.append(...keyed.map(([, row]) => row));
}

function key(cell) {
  if (!("value" in cell.dataset)) return cell.textContent.trim();
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

// What is folded on the screen is open on paper, but for samples: they stay as the reader left them.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("section:not(#samples) details:not([open])")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});

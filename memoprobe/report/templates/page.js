"use strict";
const NONE = "\u2013", MINUS = "\u2212", PAGE = 30;

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const embedded = (id) => JSON.parse(document.getElementById(id).textContent);

// How numbers are written: as report/text.py writes them.
const fixed = (value, digits) =>
  value === null ? NONE : (Number(value.toFixed(digits)) + 0).toFixed(digits).replace("-", MINUS);
const FORMS = {
  text: (value) => value ?? NONE,
  count: (value) => (value === null ? NONE : value.toLocaleString("en-US")),
  number: (value) => fixed(value, 2),
  p: (value) => (value !== null && value < 0.001 ? "<0.001" : fixed(value, 3)),
  interval: (value) => {
    const [estimate, low, high] = value ?? [null, null, null];
    const around = low === null || high === null ? "" : ` [${fixed(low, 2)}, ${fixed(high, 2)}]`;
    return fixed(estimate, 2) + around;
  },
};

// Sorting: by the column whose header is clicked; a missing value is always last.
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const button = make("button", { type: "button" }, ...head.childNodes);
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
  const keyed = [...body.rows].map((row) => [sortKey(row.cells[column]), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  });
  body.append(...keyed.map(([, row]) => row));
}

function sortKey(cell) {
  if (!("value" in cell.dataset)) return cell.textContent.trim();
  return cell.dataset.value === "" ? null : Number(cell.dataset.value);
}

for (const table of document.querySelectorAll("table.sortable")) sortable(table);

// Comparisons: a family's table is made when it is opened.
const compared = embedded("comparisons-data");

function familyTable(rows) {
  const kept = compared.columns
    .map(([title, kind], place) => ({ title, kind, place }))
    .filter(({ place }) => rows.some((row) => row[place] !== null && row[place] !== ""));
  const head = kept.map(({ title, kind }) =>
    make("th", { scope: "col", className: kind === "text" ? "" : "n" }, title));
  const body = rows.map((row) => make("tr", {}, ...kept.map(({ kind, place }, column) => {
    const value = row[place];
    const cell = make(column ? "td" : "th", {}, FORMS[kind](value));
    if (!column) cell.scope = "row";
    if (kind === "text") return cell;
    cell.className = "n";
    cell.dataset.value = (kind === "interval" ? value?.[0] : value) ?? "";
    return cell;
  })));
  const table = make("table", { className: "sortable" },
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  sortable(table);
  const region = make("div", { className: "scroll", tabIndex: 0 }, table);
  region.setAttribute("role", "region");
  return region;
}

function fill(family) {
  if (!family.open || family.querySelector("table")) return;
  const region = familyTable(compared.families[family.dataset.family]);
  region.setAttribute("aria-label", family.querySelector("summary").textContent.trim());
  family.append(region);
}

for (const family of document.querySelectorAll("details.family")) {
  family.addEventListener("toggle", () => fill(family));
  fill(family);
}

// Samples: a list that is filtered; a sample's levels are made when it is opened.
const samples = embedded("samples-data");

function difference(before, runs) {
  const block = make("pre", { dir: "ltr" });
  let place = 0;
  for (const run of runs) {
    if (typeof run === "string") {
      block.append(make("ins", {}, run));
    } else {
      const text = before.slice(place, (place += Math.abs(run)));
      block.append(run < 0 ? make("del", {}, text) : text);
    }
  }
  return block;
}

const listed = (pairs, digits) => Object.entries(pairs)
  .map(([name, value]) => `${name} ${digits === undefined ? value : fixed(value, digits)}`)
  .join(", ");

function answerOf(sample, [times, state, scores, text, verdict]) {
  const told = sample.metrics.map((name, place) => [name, scores[place]])
    .filter(([, score]) => score !== null)
    .map(([name, score]) => `${name} ${fixed(score, 2)}`);
  if (verdict) told.unshift(`tests: ${verdict}`);
  const head = make("h4", {}, `${times} × ${state} `,
    make("span", { className: "aside" }, told.join(" · ")));
  return text === null ? [head] : [head, difference(sample.answer, sample.texts[text])];
}

function levelOf(sample, level, isOpen) {
  const n = level.answers.reduce((sum, [times]) => sum + times, level.more);
  const told = `mean ${fixed(level.mean, 2)}, ${n} answer${n === 1 ? "" : "s"}, `
    + `${(100 * level.edits).toFixed(0)}% edited`;
  const answers = level.answers.flatMap((answer) => answerOf(sample, answer));
  if (level.more) answers.push(make("p", { className: "note" }, `and ${level.more} others`));
  return make("details", { open: isOpen },
    make("summary", {}, `Level ${level.level} `, make("span", { className: "aside" }, told)),
    make("h4", {}, "Prompt"), difference(sample.prompt, level.prompt),
    ...(answers.length ? answers : [make("p", {}, "No answers.")]));
}

function open(element, sample) {
  if (!element.open || element.querySelector("details")) return;
  const values = listed(sample.values, 2);
  element.append(make("p", { className: "note" },
    [sample.metric, values, sample.corner && `corner: ${sample.corner}`, listed(sample.flaws)]
      .filter(Boolean).join(" · ")));
  const last = sample.levels.length - 1;
  element.append(...sample.levels.map((level, place) => levelOf(sample, level, place === last)));
  if (sample.reference !== null) {
    element.append(make("details", {}, make("summary", {}, "Reference"),
      make("pre", { dir: "ltr" }, sample.reference)));
  }
}

const fallOf = (sample) => sample.values.calibrated ?? null;

function sampleOf(sample) {
  const place = [sample.benchmark, sample.model, sample.perturbation].join(" · ");
  const element = make("details", { className: "sample" }, make("summary", {},
    make("span", { className: "fall" }, fixed(fallOf(sample), 2)), " ",
    make("b", {}, sample.id), " ",
    ...(sample.control ? [make("span", { className: "controls" }, "control"), " "] : []),
    make("span", { className: "aside" }, `${place} · ${sample.reasons.join(", ")}`)));
  element.addEventListener("toggle", () => open(element, sample));
  return element;
}

const form = document.getElementById("filter");

function matches(sample, wanted) {
  const fall = fallOf(sample);
  return (!wanted.words || sample.searched.includes(wanted.words.toLowerCase()))
    && (!wanted.model || sample.model === wanted.model)
    && (!wanted.benchmark || sample.benchmark === wanted.benchmark)
    && (!wanted.reason || sample.reasons.includes(wanted.reason))
    && (!wanted.corner || sample.corner === wanted.corner)
    && (!wanted.group || sample.control === (wanted.group === "controls"))
    && (wanted.fall === "" || (fall !== null && fall >= Number(wanted.fall)));
}

function browse() {
  const list = document.getElementById("list"), more = document.getElementById("more");
  let found = [], n = 0;
  const show = () => {
    list.append(...found.slice(n, n + PAGE).map(sampleOf));
    n = Math.min(found.length, n + PAGE);
    more.hidden = n === found.length;
  };
  const filter = () => {
    const wanted = Object.fromEntries(new FormData(form));
    found = samples.filter((sample) => matches(sample, wanted));
    n = 0;
    list.replaceChildren();
    show();
    document.getElementById("shown").value = `${found.length} of ${samples.length} samples`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", show);
  filter();
  if (list.firstChild) list.firstChild.open = true;
}

if (form) {
  for (const sample of samples) {
    sample.searched = [sample.id, sample.prompt, sample.answer].join("\n").toLowerCase();
  }
  const choices = {
    model: (sample) => [sample.model],
    benchmark: (sample) => [sample.benchmark],
    reason: (sample) => sample.reasons,
    corner: (sample) => [sample.corner],
  };
  for (const [name, valuesOf] of Object.entries(choices)) {
    const values = new Set(samples.flatMap(valuesOf).filter((value) => value !== null));
    form.elements[name].append(...[...values].sort().map((value) => new Option(value, value)));
  }
  browse();
}

// What is folded on the screen is open on paper, but for samples and exploratory families:
// they stay as the reader left them.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("section:not(#samples) details:not([open], .more, .more *)")];
  for (const details of closed) {
    details.open = true;
    if (details.matches(".family")) fill(details);
  }
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});

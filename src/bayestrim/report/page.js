/* What the page does once it is open: sort tables, move along the budget, and compute posteriors.
   Everything it needs stands in the page; nothing is fetched, nothing is sent. */
"use strict";

const page = JSON.parse(document.getElementById("data").textContent);

/** Return a share of decisions in words, as the page writes it. */
function percent(share) {
  if (share === 0 || share === 1) return `${100 * share} %`;
  const rest = Math.min(share, 1 - share);
  const digits = Math.min(12, Math.max(2, Math.ceil(-Math.log10(rest)) - 1));
  return `${(100 * share).toFixed(digits)} %`;
}

function make(name, content, attributes = {}) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...[content].flat());
  return element;
}

/* ---------------------------------------------------------------- tables that sort */

function sortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.hasAttribute("data-sort")) return;
    const button = make("button", [...head.childNodes], { type: "button", class: "sort" });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === (head.dataset.sort === "down" ? "descending" : "ascending");
      const descending = (head.dataset.sort === "down") !== down;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const ordered = [...rows].sort((a, b) => compare(key(a.cells[column]), key(b.cells[column])));
      if (descending) ordered.reverse();
      body.append(...ordered);
    });
  });
}

function key(cell) {
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
}

function compare(a, b) {
  return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
}

/* ---------------------------------------------------------------- the budget */

function budget(slider) {
  const points = page.curve;
  const marker = document.getElementById("curve-here");
  const show = () => {
    const point = points[Number(slider.value)];
    const kept = point.features.length ? point.features.map((name) => make("li", name)) : [make("li", "nothing")];
    document.getElementById("budget-cost").textContent = point.cost_words;
    document.getElementById("budget-agreement").textContent = point.agreement_words;
    document.getElementById("budget-threshold").textContent = point.threshold_words;
    document.getElementById("budget-proof").textContent = point.proof;
    document.getElementById("budget-kept").replaceChildren(...kept);
    const keeps = point.features.length ? point.features.join(", ") : "nothing";
    slider.setAttribute("aria-valuetext", `cost ${point.cost_words}: ${point.agreement_words}; keep ${keeps}`);
    if (marker) {
      marker.setAttribute("cx", point.x);
      marker.setAttribute("cy", point.y);
    }
    document.querySelectorAll("#budget-table tbody tr").forEach((row) => {
      row.toggleAttribute("data-here", Number(row.dataset.row) === Number(slider.value));
    });
  };
  slider.addEventListener("input", show);
  show();
}

/* ---------------------------------------------------------------- the calculator */

/* A factor has a scope (numbers of variables) and values in row-major order. Values are numbers, or big integers where a
   decision must be exact; the same lines add and multiply both. */

function multiply(one, other, sizes) {
  const scope = [...new Set([...one.scope, ...other.scope])];
  const a = strides(one.scope, scope, sizes);
  const b = strides(other.scope, scope, sizes);
  const count = scope.reduce((product, variable) => product * sizes[variable], 1);
  const values = new Array(count);
  const state = scope.map(() => 0);
  for (let cell = 0, i = 0, j = 0; cell < count; cell++) {
    values[cell] = one.values[i] * other.values[j];
    for (let axis = scope.length - 1; axis >= 0; axis--) {
      i += a[axis];
      j += b[axis];
      if (++state[axis] < sizes[scope[axis]]) break;
      i -= a[axis] * state[axis];
      j -= b[axis] * state[axis];
      state[axis] = 0;
    }
  }
  return { scope, values };
}

/** Return how far one step along each variable of a scope moves in a factor's values; 0 if it has no such variable. */
function strides(own, scope, sizes) {
  const step = new Map();
  for (let axis = own.length - 1, size = 1; axis >= 0; axis--) {
    step.set(own[axis], size);
    size *= sizes[own[axis]];
  }
  return scope.map((variable) => step.get(variable) ?? 0);
}

function sumOut(factor, variable, sizes) {
  const axis = factor.scope.indexOf(variable);
  const inner = factor.scope.slice(axis + 1).reduce((product, other) => product * sizes[other], 1);
  const size = sizes[variable];
  const values = new Array(factor.values.length / size);
  for (let cell = 0; cell < values.length; cell++) {
    const start = Math.floor(cell / inner) * inner * size + (cell % inner);
    let total = factor.values[start];
    for (let state = 1; state < size; state++) total += factor.values[start + state * inner];
    values[cell] = total;
  }
  return { scope: factor.scope.filter((other) => other !== variable), values };
}

function observe(factor, seen, sizes) {
  let { scope, values } = factor;
  for (const variable of factor.scope) {
    if (!seen.has(variable)) continue;
    const axis = scope.indexOf(variable);
    const inner = scope.slice(axis + 1).reduce((product, other) => product * sizes[other], 1);
    const state = seen.get(variable);
    values = values.filter((_, cell) => Math.floor(cell / inner) % sizes[variable] === state);
    scope = scope.filter((other) => other !== variable);
  }
  return { scope, values };
}

/** Return Pr(class, what was seen) for each state of the class, up to a common factor where tables are integers. */
function masses(model, tables, seen) {
  let factors = tables.map((table) => observe(table, seen, model.sizes));
  for (const variable of model.order) {
    const touched = factors.filter((factor) => factor.scope.includes(variable));
    if (!touched.length) continue;
    factors = factors.filter((factor) => !factor.scope.includes(variable));
    const product = touched.reduce((one, other) => multiply(one, other, model.sizes));
    factors.push(sumOut(product, variable, model.sizes));
  }
  return factors.reduce((one, other) => multiply(one, other, model.sizes)).values;
}

/** Return a table with each row divided by its sum. */
function normalised(table, states) {
  const values = table.values.slice();
  for (let start = 0; start < values.length; start += states) {
    let sum = 0;
    for (let i = start; i < start + states; i++) sum += values[i];
    for (let i = start; i < start + states; i++) values[i] /= sum;
  }
  return { scope: table.scope, values };
}

/** Return the digits and the exponent of the shortest decimal that stands for a number: 0.07 is 7 and 2. */
function decimal(number) {
  const [digits, power = "0"] = String(number).split("e");
  const [whole, part = ""] = digits.split(".");
  return { digits: BigInt(whole + part), places: part.length - Number(power) };
}

/** Return a table as big integers: its decimals as they are written, every row scaled to the same sum. */
function integers(table, states) {
  const decimals = table.values.map(decimal);
  const places = Math.max(0, ...decimals.map((number) => number.places));
  const whole = decimals.map((number) => number.digits * 10n ** BigInt(places - number.places));
  const sums = [];
  for (let start = 0; start < whole.length; start += states) {
    sums.push(whole.slice(start, start + states).reduce((a, b) => a + b));
  }
  const common = sums.reduce((a, b) => (a / divisor(a, b)) * b);
  return { scope: table.scope, values: whole.map((value, i) => value * (common / sums[Math.floor(i / states)])) };
}

function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

const BAND = 1e-9; // odds this near to the threshold's are compared exactly, as in Python
const VANISHING = 1e-250; // so little may be what underflow left

/** Return the posterior and the decision of what was seen: states by number, measurements as they are, null if not. */
function decide(model, seen) {
  if (model.kind === "odds") return addUp(model, seen);
  const codes = seen.map((code) => code ?? -1);
  return model.kind === "answers" ? lookUp(model, codes) : compute(model, codes);
}

/** Decide by a sum of log-odds: of a state's two probabilities, or of a measurement under two normal distributions. */
function addUp(model, seen) {
  let odds = Math.log(model.prior) - Math.log1p(-model.prior);
  seen.forEach((value, i) => {
    if (value === null) return;
    const { positive, negative } = model.parts[i];
    if (model.inputs[i].states) {
      odds += Math.log(positive[value]) - Math.log(negative[value]);
      return;
    }
    const [here, there] = [positive, negative].map(([mean, variance]) => distance(value, mean, variance));
    odds += ((there - here) * (there + here)) / 2 + (Math.log(negative[1]) - Math.log(positive[1])) / 2;
  });
  if (Number.isNaN(odds)) return null;
  const small = Math.exp(-Math.abs(odds));
  const limit = model.threshold;
  const positive = limit <= 1 && odds >= Math.log(limit) - Math.log1p(-limit);
  return { posterior: (odds > 0 ? 1 : small) / (1 + small), positive, exactly: false };
}

/** Return how many standard deviations a value lies from a mean. */
function distance(value, mean, variance) {
  return Math.max(-1e150, Math.min(1e150, (value - mean) / Math.sqrt(variance)));
}

function lookUp(model, codes) {
  let place = 0;
  model.inputs.forEach((input, i) => {
    const size = input.states.length;
    place = place * (size + 1) + (codes[i] < 0 ? size : codes[i]);
  });
  const posterior = model.posteriors[place];
  return posterior === null ? null : { posterior, positive: model.decisions[place] === "1", exactly: false };
}

function compute(model, codes) {
  const seen = new Map(Object.entries(model.evidence).map(([variable, state]) => [Number(variable), state]));
  codes.forEach((code, i) => {
    if (code >= 0) seen.set(model.features[i], code);
  });
  const states = (table) => model.sizes[table.scope.at(-1)];
  model.floats ??= model.tables.map((table) => normalised(table, states(table)));
  const side = (values, wanted) =>
    values.filter((_, state) => model.positive.includes(state) === wanted).reduce((a, b) => a + b);
  const found = masses(model, model.floats, seen);
  let [positive, negative] = [side(found, true), side(found, false)];
  let posterior = positive / (positive + negative);
  const limit = model.threshold;
  if (limit <= 0 || limit > 1) {
    if (!(positive + negative > VANISHING)) ({ posterior } = exactly());
    return Number.isNaN(posterior) ? null : { posterior, positive: limit <= 0, exactly: false };
  }
  const [favour, against] = [positive * (1 - limit), negative * limit];
  const larger = Math.max(favour, against);
  const sure = positive + negative > VANISHING && Math.abs(favour - against) > BAND * larger && larger > VANISHING;
  if (sure) return { posterior, positive: favour >= against && positive > 0, exactly: false };
  const answer = exactly();
  return Number.isNaN(answer.posterior) ? null : answer;

  function exactly() {
    model.integers ??= model.tables.map((table) => integers(table, states(table)));
    const whole = masses(model, model.integers, seen);
    const [yes, no] = [side(whole, true), side(whole, false)];
    const { digits, places } = decimal(limit);
    const scale = 10n ** BigInt(Math.max(0, places));
    const share = positive + negative > VANISHING ? posterior : ratio(yes, yes + no);
    return { posterior: share, positive: yes * scale >= (yes + no) * digits, exactly: true };
  }
}

/** Return a quotient of big integers as a number. */
function ratio(part, whole) {
  return whole ? Number((part * 10n ** 20n) / whole) / 1e20 : NaN;
}

function calculate(form) {
  const model = page.calculator;
  const fields = [...form.querySelectorAll("select, input")];
  const read = (field, i) => {
    if (field.value === "") return null; // nothing was entered, or nothing that is a number
    const { cuts } = model.inputs[i];
    return cuts ? cuts.filter((cut) => cut <= Number(field.value)).length : Number(field.value);
  };
  const output = document.getElementById("calculator-answer");
  const show = () => {
    const answer = decide(model, fields.map(read));
    const bar = document.getElementById("calculator-bar");
    output.toggleAttribute("data-positive", Boolean(answer?.positive));
    output.toggleAttribute("data-impossible", !answer);
    if (!answer) {
      delete output.dataset.posterior;
      document.getElementById("calculator-decision").textContent = "Impossible";
      document.getElementById("calculator-posterior").textContent = "the model gives this combination no probability";
      bar.setAttribute("width", 0);
      return;
    }
    output.dataset.posterior = answer.posterior;
    document.getElementById("calculator-decision").textContent = answer.positive ? page.words.positive : page.words.negative;
    const nearly = answer.exactly ? ", so near the threshold that it was decided in exact arithmetic" : "";
    document.getElementById("calculator-posterior").textContent = `${page.words.posterior} ${percent(answer.posterior)}${nearly}`;
    bar.setAttribute("width", 1000 * answer.posterior);
  };
  form.addEventListener("input", show);
  form.addEventListener("reset", () => setTimeout(show)); // once the fields are back
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}

/* Paper has no summary to click on: what is folded up is printed, and folded up again. */
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((details) => {
    details.open = true;
    window.addEventListener("afterprint", () => (details.open = false), { once: true });
  });
});

document.querySelectorAll("table.sortable").forEach(sortable);
const slider = document.getElementById("budget");
if (slider) budget(slider);
const form = document.getElementById("calculator");
if (form) calculate(form);
document.documentElement.classList.add("ready");

// Draws the charts of a page.
//
//   <figure data-chart>
//     <script type="application/json">{"data": {"values": [...]}, "mark": "bar", ...}</script>
//     <figcaption>People by ward</figcaption>
//   </figure>
//
// The script holds a Vega-Lite specification without colours; a colour that is needed is
// written "var(--series-2)". The chart is an SVG in a <div class="chart-view"> after the
// script. It is drawn anew when the colour scheme changes, follows the width of its figure if
// the specification says "width": "container", and is drawn in what htmx swaps in. A figure has
// the state data-chart="drawn" or, where its specification is wrong, "failed"; what else it
// holds is kept.
//
// Guarantee: a chart fetches nothing (data, images and links with an address are refused), and
// neither evaluates text as code nor writes style into markup, so a strict content security
// policy allows it. Expressions of a specification run in Vega's interpreter.

import {expressionInterpreter} from 'vega-interpreter';
import {compile} from 'vega-lite';

import {View, Warn, logger, parse} from './vega.js';

/** Each figure that is drawn, with its view, its host and the observer of its width. */
const drawn = new Map();

/** A loader that refuses every address. */
const refuse = () => Promise.reject(new Error('a chart fetches nothing'));
const loader = {load: refuse, sanitize: refuse, http: refuse, file: refuse};

/** Returns the value of a CSS variable such as "--grid", as the page has it now. */
function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Returns Vega-Lite's configuration in the colours and fonts of the page. */
function configOfPage() {
  const [text, muted, grid, line] = ['--text', '--muted', '--grid', '--control'].map(colourOf);
  const series = [1, 2, 3, 4].map((number) => colourOf(`--series-${number}`));
  const font = colourOf('--font') || 'sans-serif';
  const words = {
    labelColor: muted, titleColor: muted, labelFont: font, titleFont: font,
    labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal',
  };
  return {
    background: 'transparent',
    font,
    view: {stroke: null},
    axisXDiscrete: {labelAngle: 0, labelLimit: 100, labelOverlap: true},
    axis: {...words, gridColor: grid, domainColor: line, tickColor: line},
    header: words,
    legend: words,
    title: {color: text, font, fontSize: 13},
    mark: {color: series[0]},
    errorbar: {color: text, thickness: 1.75},
    rule: {color: text},
    text: {color: text, font, fontSize: 12},
    range: {category: series, ordinal: series},
  };
}

/** Returns a specification with each colour "var(--name)" replaced, but for its data. */
function withColours(part) {
  if (typeof part === 'string') {
    const found = /^var\((--[\w-]+)\)$/.exec(part);
    return found ? colourOf(found[1]) : part;
  }
  if (Array.isArray(part)) return part.map(withColours);
  if (part === null || typeof part !== 'object') return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) =>
      [key, key === 'data' || key === 'datasets' ? value : withColours(value)]),
  );
}

/** Draws one figure, or draws it anew. */
function draw(figure) {
  const script = figure.querySelector('script[type="application/json"]');
  if (!script) return;
  const host = drawn.get(figure)?.host ?? document.createElement('div');
  remove(figure);
  try {
    const given = JSON.parse(script.textContent);
    const {spec} = compile(withColours(given), {config: configOfPage()});
    if (!host.isConnected) {
      host.className = 'chart-view';
      script.after(host);
    }
    let failure = null;
    const log = logger(Warn);
    log.error = (error) => {  // Vega logs what fails while it runs, and ends as if nothing had
      failure ??= error;
      return log;
    };
    const view = new View(parse(spec, null, {ast: true}), {
      container: host, expr: expressionInterpreter, hover: true, loader, logger: log,
      renderer: 'svg',
    });
    const observer = new ResizeObserver(() => {
      const width = host.clientWidth;
      if (given.width === 'container' && width && width !== view.width()) {
        view.width(width).runAsync();
      }
    });
    drawn.set(figure, {host, observer, view});
    view.runAsync().then(
      () => {
        if (failure) {
          fail(figure, host, failure);
        } else if (drawn.get(figure)?.view === view) {
          figure.dataset.chart = 'drawn';
          observer.observe(host);
        }
      },
      (error) => fail(figure, host, error),
    );
  } catch (error) {
    fail(figure, host, error);
  }
}

/** Takes away what was drawn of a figure, and says why on the browser's console. */
function fail(figure, host, error) {
  remove(figure);
  host.remove();
  figure.dataset.chart = 'failed';
  console.error('A chart was not drawn.', error);
}

/** Ends the view of a figure; the host stays. */
function remove(figure) {
  const found = drawn.get(figure);
  if (!found) return;
  drawn.delete(figure);
  found.observer.disconnect();
  found.view.finalize();
}

/** Draws what is new inside an element of the page. */
function drawInside(element) {
  const inside = [...element.querySelectorAll('figure[data-chart]')];
  if (element.matches?.('figure[data-chart]')) inside.push(element);
  for (const figure of inside) if (!drawn.has(figure)) draw(figure);
}

let planned = 0;

/** Draws all charts anew before the next frame, once for several changes. */
function redrawAll() {
  cancelAnimationFrame(planned);
  planned = requestAnimationFrame(() => {
    for (const figure of [...drawn.keys()]) (figure.isConnected ? draw : remove)(figure);
  });
}

function start() {
  drawInside(document);
  document.addEventListener('htmx:load', (event) => drawInside(event.target));
  document.addEventListener('htmx:beforeCleanupElement', (event) => remove(event.target));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
  new MutationObserver(redrawAll).observe(document.documentElement, {
    attributeFilter: ['class', 'data-theme'],
  });
}

if (!window.tacitCharts) {
  window.tacitCharts = {draw: drawInside, redraw: redrawAll};
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start);
  else start();
}

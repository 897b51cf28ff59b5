// A plan as SVG, laid out by the places that the service gives: `rank` is the column of a step, `order` its place in it.

const COLUMN = 190;
const ROW = 80;
const WIDTH = 140;
const HEIGHT = 44;
const MARGIN = 20; // pixels
const FILLS = { UNTRIED: "#e8eaee", SUCCEEDED: "#a7d8b9", UNRELIABLE: "#ffd98a", FAILED: "#f2a3ad" };
const LINES = { CONTROL: 'stroke="#2f4b7c"', DATA: 'stroke="#2a9d8f" stroke-dasharray="5 4"' };
const ARROW =
  '<marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">' +
  '<path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker>';

const escaped = (text) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

/** Return the picture of an answer of `planGraph`. */
export function draw({ steps, links, criticalPath }) {
  const rowsOf = new Map();
  for (const { rank, order } of steps) rowsOf.set(rank, Math.max(rowsOf.get(rank) ?? 0, order + 1));
  const rows = Math.max(1, ...rowsOf.values());
  const columns = Math.max(1, ...steps.map((step) => step.rank + 1));
  const places = new Map(
    steps.map(({ id, rank, order }) => [
      id,
      {
        x: MARGIN + WIDTH / 2 + rank * COLUMN,
        y: MARGIN + HEIGHT / 2 + (order + (rows - rowsOf.get(rank)) / 2) * ROW,
      },
    ]),
  );
  const lines = links.map(({ id, source, target, kind }) => {
    const from = places.get(source);
    const to = places.get(target);
    const [x, farX] = [from.x + WIDTH / 2, to.x - WIDTH / 2];
    const middle = (x + farX) / 2;
    const path = `M${x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${farX} ${to.y}`;
    const line = `fill="none" stroke-width="2" ${LINES[kind]} marker-end="url(#arrow)"`;
    return `<path class="link" id="${escaped(id)}" d="${path}" ${line}/>`;
  });
  const boxes = steps.map(({ id, label, status, executions, failures, count }) => {
    const { x, y } = places.get(id);
    const edge = criticalPath.includes(id) ? 3 : 1;
    const tried = executions === null ? "untried" : `${failures} of ${executions} failed`;
    const box = `x="${x - WIDTH / 2}" y="${y - HEIGHT / 2}" width="${WIDTH}" height="${HEIGHT}" rx="8"`;
    const text = `x="${x}" text-anchor="middle" fill="#2a2c34"`;
    return (
      `<g class="step" id="step-${escaped(id)}">` +
      `<rect ${box} fill="${FILLS[status]}" stroke="#2f4b7c" stroke-width="${edge}"/>` +
      `<text ${text} y="${y - 2}" font-size="12">${escaped(label)}</text>` +
      `<text ${text} y="${y + 15}" font-size="11">${count > 1 ? `${count} steps` : tried}</text></g>`
    );
  });
  const width = 2 * MARGIN + WIDTH + (columns - 1) * COLUMN;
  const height = 2 * MARGIN + HEIGHT + (rows - 1) * ROW;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif">`,
    `<defs>${ARROW}</defs>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...lines,
    ...boxes,
    "</svg>",
    "",
  ].join("\n");
}

import { spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

const COLUMNS = 92;
const CHARACTER = 7.8;
const LINE = 19;
/** From the middle of a line to the baseline of its letters. */
const DESCENT = 4.5;
const MARGIN = 16;
const BAR = 30;
/** Nobody likes to wait in a picture. */
const LONGEST_GAP_S = 1.4;
const TYPING_S = 0.9;
const HOLD_S = 9;
const COLOURS = { 31: '#ff8a80', 32: '#8fd6a5', 33: '#f0c674', 34: '#8bbdf6', 36: '#8ed0dd', 90: '#8b919b' };
const ESCAPE = new RegExp(`${String.fromCharCode(27)}\\[([0-9;]*)([A-Za-z])`, 'g');

/** A command in a terminal of its own (a real one, so that programs print as they do for a person), and what came when. */
export class Terminal {
  #child;
  #chunks = [];
  #startedS;
  #shortened;

  constructor(command, { cwd, env, began, shortened }) {
    this.command = command;
    this.#shortened = shortened;
    const now = () => (performance.now() - began) / 1000;
    this.#startedS = now();
    this.#child = spawn('script', ['-qfec', `stty cols ${COLUMNS}; exec ${command}`, '/dev/null'], { cwd, env });
    this.#child.stdout.on('data', (chunk) => this.#chunks.push({ atS: now(), text: chunk.toString() }));
    this.ended = new Promise((resolve) => this.#child.once('close', resolve));
  }

  get text() {
    return this.#chunks.map(({ text }) => text).join('');
  }

  async until(words) {
    while (!this.text.includes(words)) {
      if (this.#child.exitCode !== null) throw new Error(`${this.command}: ${this.text}`);
      await wait(50);
    }
  }

  /** Lines with the moment each was complete, through the one that is wanted last; more of them is shown as an ellipsis. */
  upTo(isLast) {
    const lines = [];
    let line = '';
    for (const { atS, text } of this.#chunks) {
      for (const character of text.replaceAll('\r', '')) {
        if (character !== '\n') line += character;
        else {
          lines.push({ atS, text: this.#shortened(line) });
          line = '';
        }
      }
    }
    const end = lines.findIndex(({ text }) => isLast(text));
    const shown = end === -1 ? lines : lines.slice(0, end + 1);
    if (end !== -1 && end < lines.length - 1) shown.push({ atS: lines[end].atS, text: '⋮' });
    return { command: this.command, startedS: this.#startedS, lines: shown };
  }

  async close() {
    if (this.#child.exitCode === null) this.#child.stdin.write('\x03');
    await Promise.race([this.ended, wait(5000)]);
  }
}

/** Terminals one above the other, their lines appearing as they came. */
export function terminalPicture(captures) {
  const when = timeline(captures);
  let y = 0;
  const panes = captures.map(({ command, startedS, lines }) => {
    const rows = [
      { text: `\u001b[32m$\u001b[39m ${command}`, atS: when(startedS) - TYPING_S, isTyped: true },
      ...lines.flatMap(({ text, atS }) => wrapped(text).map((part) => ({ text: part, atS: when(atS) }))),
    ];
    const height = BAR + rows.length * LINE + MARGIN;
    const pane = paneAt(y, height, rows);
    y += height + 12;
    return pane;
  });
  const width = Math.round(COLUMNS * CHARACTER + 2 * MARGIN);
  const totalS = when(Number.POSITIVE_INFINITY) + HOLD_S;
  return svg(width, y - 12, panes, totalS);
}

/** Real time, its long gaps shortened, and room for each command to be typed. */
function timeline(captures) {
  const marks = captures.flatMap(({ startedS, lines }) => [
    { atS: startedS, leadS: TYPING_S + 0.5 },
    ...lines.map(({ atS }) => ({ atS, leadS: 0 })),
  ]);
  marks.sort((one, other) => one.atS - other.atS);
  const shown = new Map();
  let clockS = 0;
  let beforeS = marks[0].atS;
  for (const { atS, leadS } of marks) {
    clockS += Math.min(atS - beforeS, LONGEST_GAP_S) + leadS;
    beforeS = atS;
    shown.set(atS, clockS);
  }
  return (atS) => shown.get(atS) ?? clockS;
}

function paneAt(y, height, rows) {
  const lights = ['#ff5f57', '#febc2e', '#28c840'].map((fill, n) => `<circle cx="${18 + n * 18}" cy="15" r="5.5" fill="${fill}"/>`);
  const lines = rows.map((row, n) => lineAt(row, BAR + MARGIN / 2 + (n + 0.5) * LINE + DESCENT));
  return `<g transform="translate(0 ${y})"><rect width="100%" height="${height}" rx="10" fill="#1a1d22"/>${lights.join('')}${lines.join('\n')}</g>`;
}

function lineAt({ text, atS, isTyped = false }, y) {
  let fill = '#e4e2dd';
  const spans = [];
  let from = 0;
  let columns = 0;
  const push = (piece) => {
    if (piece === '') return;
    columns += widthOf(piece);
    spans.push(`<tspan fill="${fill}">${piece.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</tspan>`);
  };
  for (const match of text.matchAll(ESCAPE)) {
    push(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === 'm') fill = COLOURS[match[1].split(';').at(-1)] ?? '#e4e2dd';
  }
  push(text.slice(from));
  if (columns === 0) return '';
  const length = (columns * CHARACTER).toFixed(1);
  return `<text x="${MARGIN}" y="${y.toFixed(1)}" textLength="${length}" lengthAdjust="spacingAndGlyphs" data-at="${atS.toFixed(2)}"${isTyped ? ' data-typed=""' : ''}>${spans.join('')}</text>`;
}

/** As a terminal does it: at the last column, wherever that is. */
function wrapped(text) {
  const parts = [''];
  let columns = 0;
  let colour = '';
  for (const [piece] of text.matchAll(new RegExp(`${ESCAPE.source}|.`, 'gu'))) {
    const isEscape = piece.length > 1 && piece.codePointAt(0) === 27;
    if (isEscape) colour = piece;
    else columns += widthOf(piece);
    if (columns > COLUMNS) {
      parts.push(colour);
      columns = widthOf(piece);
    }
    parts[parts.length - 1] += piece;
  }
  return parts;
}

function widthOf(text) {
  return [...text].reduce((sum, character) => sum + (/[\u1100-\u115f\u2e80-\u9fff\uff00-\uff60]|\p{Emoji_Presentation}/u.test(character) ? 2 : 1), 0);
}

/** Every line has its moment in an animation that repeats; without animation every line is visible. */
function svg(width, height, panes, totalS) {
  const rules = [];
  let number = 0;
  const body = panes.join('\n').replaceAll(/data-at="([\d.-]+)"( data-typed="")?/g, (_, at, typed) => {
    number += 1;
    const percent = (seconds) => `${((100 * Math.max(0, seconds)) / totalS).toFixed(2)}%`;
    const start = Math.max(0, Number(at));
    rules.push(
      typed === undefined
        ? `@keyframes l${number}{0%,${percent(start)}{opacity:0}${percent(start + 0.05)}{opacity:1}}`
        : `@keyframes l${number}{0%,${percent(start)}{clip-path:inset(0 100% 0 0)}${percent(start + TYPING_S)}{clip-path:inset(0)}}`,
    );
    return `style="animation-name:l${number}"`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<title>make demo starts a simulated Mac; another terminal watches; a third one sends a message</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;animation:${totalS.toFixed(1)}s linear infinite}
@media (prefers-reduced-motion:reduce){text{animation:none}}
${rules.join('\n')}
</style>
${body}
</svg>
`;
}

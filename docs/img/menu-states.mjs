// Draws two states of the menu bar plugin from what it really prints: node docs/img/menu-states.mjs, after make build.
// The service behind it is a socket that answers with the menu text of a given report.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { menuText } from '../../dist/src/core/http/status/menu-text.js';

const ITEM = 24;
const WIDTH = 232;
const PADDING = 6;
const TOP = 28;
const ofLongest = (rows) => Math.round(Math.max(...rows.map(({ text = '' }) => text.length)) * 6.9 + 34);
const widthOf = (rows) => Math.max(WIDTH, ofLongest(rows));
const LOOKS = {
  light: { desk: ['#c9d6ea', '#e9dfd3'], bar: '#ffffffb3', panel: '#f6f6f6', text: '#1d1d1f', line: '#0000001f', edge: '#00000026', red: '#c4281c' },
  dark: { desk: ['#1d2b40', '#40324a'], bar: '#00000059', panel: '#2b2b2e', text: '#f2f2f2', line: '#ffffff26', edge: '#ffffff33', red: '#ff8078' },
};
/** Shapes of the two SF Symbols that the plugin names. */
const SYMBOLS = {
  envelope: '<rect x="1" y="3" width="16" height="12" rx="2.5"/><path d="M1.8 4.6 9 10.4l7.2-5.8"/>',
  'questionmark.circle': '<circle cx="9" cy="9" r="7.2"/><path d="M6.8 7a2.2 2.2 0 1 1 3 2.1c-.6.3-.8.7-.8 1.4M9 12.7v.3"/>',
  'xmark.circle': '<circle cx="9" cy="9" r="7.2"/><path d="m6.4 6.4 5.2 5.2m0-5.2-5.2 5.2"/>',
  'exclamationmark.triangle': '<path d="M9 2 17 16H1Z"/><path d="M9 7v4.2M9 13.4v.4"/>',
};

/** The texts that a menu bar plugin printed, each drawn as macOS draws a menu. */
function menuPicture(texts, scheme) {
  const look = LOOKS[scheme];
  const menus = texts.map(parsed);
  const height = TOP + 22 + Math.max(...menus.map(({ rows }) => heightOf(rows)));
  const gap = 24;
  let x = gap;
  const drawn = menus.map((menu) => {
    const child = menu.rows.find(({ children }) => children.length > 0);
    const width = widthOf(menu.rows) + (child === undefined ? 0 : ofLongest(child.children));
    const piece = `<g transform="translate(${x} 0)">${menuAt(menu, child, look)}</g>`;
    x += width + gap;
    return piece;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${x} ${height}" width="${x}" height="${height}">
<title>The menu of the menu bar plugin</title>
<style>text{font:13px -apple-system,BlinkMacSystemFont,"Helvetica Neue","Segoe UI",system-ui,sans-serif;dominant-baseline:central}</style>
<defs><linearGradient id="desk" x2="1" y2="1"><stop stop-color="${look.desk[0]}"/><stop offset="1" stop-color="${look.desk[1]}"/></linearGradient>
<filter id="shadow" x="-20%" y="-80%" width="140%" height="300%"><feDropShadow dy="5" stdDeviation="7" flood-opacity=".28"/></filter></defs>
<rect width="${x}" height="${height}" rx="10" fill="url(#desk)"/>
<path d="M0 ${TOP - 4}V10A10 10 0 0 1 10 0H${x - 10}a10 10 0 0 1 10 10v${TOP - 14}z" fill="${look.bar}"/>
${drawn.join('\n')}
</svg>
`;
}

/** The format of SwiftBar and xbar: title lines, ---, items; leading dashes are levels, what follows the bar are parameters. */
function parsed(text) {
  const [title, ...lines] = text.trimEnd().split('\n');
  const rows = [];
  for (const line of lines.slice(1)) {
    const item = itemOf(line.replace(/^--(?!-)/, ''));
    if (/^--[^-]/.test(line)) rows.at(-1).children.push(item);
    else rows.push(line === '---' ? { isLine: true, children: [] } : item);
  }
  return { symbol: /sfimage=(\S+)/.exec(title)?.[1], rows };
}

function itemOf(line) {
  const [text, parameters = ''] = line.split(' | ');
  return { text, color: /color=(\w+)/.exec(parameters)?.[1], isAction: /bash=|href=/.test(parameters), children: [] };
}

const heightOf = (rows) => rows.reduce((sum, { isLine }) => sum + (isLine ? 11 : ITEM), 2 * PADDING);

function menuAt({ symbol, rows }, child, look) {
  const icon = `<rect x="6" y="2" width="34" height="20" rx="5" fill="${look.line}"/><g transform="translate(14 3)" fill="none" stroke="${look.text}" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">${SYMBOLS[symbol]}</g>`;
  let submenu = '';
  if (child !== undefined) {
    const y = TOP + heightOf(rows.slice(0, rows.indexOf(child))) - 2 * PADDING;
    submenu = panelAt(widthOf(rows) - 3, y, ofLongest(child.children), child.children, undefined, look);
  }
  return icon + panelAt(0, TOP, widthOf(rows), rows, child, look) + submenu;
}

function panelAt(x, y, width, rows, opened, look) {
  let at = PADDING;
  const items = rows.map((row) => {
    const middle = at + ITEM / 2;
    const isOpen = row === opened;
    at += row.isLine ? 11 : ITEM;
    if (row.isLine) return `<path d="M12 ${middle - 6.5}H${width - 12}" stroke="${look.line}"/>`;
    const fill = isOpen ? '#ffffff' : row.color === 'red' ? look.red : look.text;
    return [
      isOpen ? `<rect x="5" y="${middle - ITEM / 2}" width="${width - 10}" height="${ITEM}" rx="5" fill="#0a63d6"/>` : '',
      // What does nothing when it is chosen is greyed, as macOS does.
      `<text x="16" y="${middle}" fill="${fill}"${row.isAction || row.color !== undefined || isOpen ? '' : ' opacity=".62"'}>${row.text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`,
      row.children.length > 0 ? `<path d="M${width - 20} ${middle - 4}l4.5 4-4.5 4" fill="none" stroke="${fill}" stroke-width="1.6"/>` : '',
    ].join('');
  });
  return `<g transform="translate(${x} ${y})"><rect width="${width}" height="${heightOf(rows)}" rx="9" fill="${look.panel}" stroke="${look.edge}" filter="url(#shadow)"/>${items.join('')}</g>`;
}

const here = fileURLToPath(new URL('.', import.meta.url));
const plugin = fileURLToPath(new URL('../../installer/menubar/postern.30s.sh', import.meta.url));
const permissions = ['full_disk_access', 'automation'].map((name) => ({ name, state: 'granted', detail: '' }));
const fine = {
  version: '0.1.0',
  uptime_s: 90_000,
  backend: { connected: true, message: null },
  newest_event: { row_id: 12, age_s: 125 },
  webhooks: [],
  permissions,
};
/** The reports that the service answers with. */
const REPORTS = [fine, { ...fine, held_sends: 2 }];

/** Runs the plugin as SwiftBar does. Returns its output. */
async function printed(report) {
  const home = mkdtempSync(join(tmpdir(), 'pm-'));
  const support = join(home, 'Library/Application Support/Postern');
  mkdirSync(support, { recursive: true, mode: 0o700 });
  mkdirSync(join(home, 'bin'));
  mkdirSync(join(home, 'Library/LaunchAgents'), { recursive: true });
  writeFileSync(join(support, 'config.toml'), '[server]\nport = 0\n[auth]\napi_key = "none"\n', { mode: 0o600 });
  writeFileSync(join(home, 'Library/LaunchAgents/local.postern.agent.plist'), '');
  writeFileSync(join(home, 'bin/launchctl'), `#!/bin/sh\necho '\tstate = running'\n`);
  chmodSync(join(home, 'bin/launchctl'), 0o755);
  const server = createServer((_request, response) =>
    response.end(menuText(report, 'swiftbar', { url: 'http://127.0.0.1:3001' })),
  );
  await new Promise((resolve) => void server.listen(join(support, 'postern.sock'), resolve));
  try {
    const env = { PATH: `${home}/bin:${process.env.PATH}`, HOME: home, SWIFTBAR: '1' };
    return (await promisify(execFile)('sh', [plugin], { env })).stdout;
  } finally {
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}

const texts = [];
for (const report of REPORTS) texts.push(await printed(report));
for (const scheme of ['light', 'dark']) {
  for (const [number, text] of texts.entries()) {
    writeFileSync(join(here, `menu-states-${number + 1}-${scheme}.svg`), menuPicture([text], scheme));
  }
}

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
export function menuPicture(texts, scheme) {
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

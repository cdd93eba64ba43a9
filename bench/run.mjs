// Measures every row and its rival in the same run: `node bench/run.mjs [--quick | --huge] [PART...]`. Writes
// RESULTS.md, except with --quick or if parts are named, as in `node bench/run.mjs archive content`. --huge adds a row
// on ten million messages, whose database takes half an hour and 10 GB.
import { execFileSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { accessRows } from './access.mjs';
import { archiveRows } from './archive.mjs';
import { capRow } from './caps.mjs';
import { changeRows } from './changes.mjs';
import { consoleRows } from './console.mjs';
import { contentRows } from './content.mjs';
import { database, readDatabase, undatedDatabase } from './database.mjs';
import { fleetRows } from './fleet.mjs';
import { httpRows } from './http.mjs';
import { liveRows } from './live.mjs';
import { mcpRows } from './mcp.mjs';
import { nameRows } from './names.mjs';
import { deepPageRow, newMessageRow, readerRows, sizeRows } from './reader.mjs';
import { releaseRows } from './release.mjs';
import { searchRows } from './search.mjs';
import { stallRows } from './stall.mjs';

const isQuick = process.argv.includes('--quick');
const isHuge = process.argv.includes('--huge');
const effort = isQuick ? { rounds: 3, roundMs: 40, loadMs: 500 } : { rounds: 9, roundMs: 200, loadMs: 2500 };
const folder = new URL('.', import.meta.url).pathname;

const rows = [];
const add = (more) => {
  rows.push(...more);
  for (const row of more) console.log(line(row));
};
const PARTS = {
  async reader() {
    add(await readerRows(large, effort));
    add(await readerRows(large, effort, { isAfterCommit: true }));
    add([await newMessageRow(large, effort, 2000)]);
    if (isHuge) add([await newMessageRow(database(10_000_000), effort, 4000)]);
    if (isQuick) return;
    add(await sizeRows(large, small, effort));
    add([await deepPageRow(large, effort)]);
  },
  async packages() {
    const path = isQuick ? small : database(200_000);
    const args = [`${folder}other-packages.mjs`, path, String(effort.rounds), String(effort.roundMs)];
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
    add(JSON.parse(execFileSync(process.execPath, args, options)));
  },
  http: async () => add(await httpRows(large, effort)),
  mcp: async () => add(await mcpRows(large, effort)),
  access: async () => add(await accessRows(large, effort)),
  caps: () => add([capRow(effort)]),
  names: async () => add(await nameRows(large, readDatabase(isQuick ? 10_000 : 1_000_000), effort)),
  changes: async () => add(await changeRows(large, { ...effort, isQuick })),
  search: async () => add(await searchRows(isQuick ? 10_000 : 1_000_000)),
  content: async () => add(await contentRows(large, effort, { isQuick })),
  archive: () => add(archiveRows(large, { rounds: isQuick ? 1 : 3 })),
  stall: async () => add(await stallRows(large, undatedDatabase(isQuick ? 5000 : 50_000), effort)),
  async live() {
    for await (const more of liveRows({ small, large, isQuick })) add(more);
  },
  fleet: async () => add(await fleetRows(small, { ...effort, isQuick })),
  console: async () => add(await consoleRows({ isQuick })),
  release: async () => add(await releaseRows({ rounds: isQuick ? 1 : 5 })),
};
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = asked.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. The parts are ${Object.keys(PARTS).join(', ')}.`);
  process.exit(64);
}

installRivals();
const small = database(10_000);
const large = isQuick ? small : database(1_000_000);
for (const [name, measure] of Object.entries(PARTS)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const startedAt = performance.now();
  await measure();
  console.error(`${name}: ${Math.round((performance.now() - startedAt) / 1000)} s`);
}

if (!isQuick && asked.length === 0) {
  const [cpu] = cpus();
  writeFileSync(
    `${folder}RESULTS.md`,
    `# Results

${cpu?.model ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB; ${process.platform}, Node ${process.versions.node}. Made by \`make bench\` on ${new Date().toISOString().slice(0, 10)}.
Median (lowest to highest) of 7 to 19 rounds, the more the noisier the row; Postern and its rival in turn.

| what | Postern | rival | its figure | ratio | to reach | met |
|---|---|---|---|---|---|---|
${rows.map(line).join('\n')}
`,
  );
}

/**
 * Returns a row's line for the table. `bound` is the maximum of Postern's own figure; `most` and `least` bound the
 * ratio.
 */
function line({ what, postern, rival = '', rivals, unit, ratio, bound, most, least, note, isWrong }) {
  const figure = ({ median, low, high }) => `${short(median)} (${short(low)} to ${short(high)}) ${unit}`;
  const [target, isMet] =
    bound !== undefined
      ? [`≤ ${bound} ${unit}`, postern.median <= bound]
      : most !== undefined
        ? [`≤ ${most}`, ratio <= most]
        : least !== undefined
          ? [`≥ ${least}`, ratio >= least]
          : ['stated only', undefined];
  const cells = [
    note ? `${what} (${note})` : what,
    figure(postern),
    rival,
    rivals ? figure(rivals) : '',
    ratio === undefined ? '' : short(ratio),
    target,
    isWrong || isMet === false ? '**no**' : isMet ? 'yes' : '',
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Installs the rivals without native builds: imessage-kit uses Postern's SQLite. */
function installRivals() {
  const changedAt = (file) => statSync(folder + file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (changedAt('node_modules/.package-lock.json') >= changedAt('package-lock.json')) return;
  const command = ['ci', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', command, { cwd: folder, stdio: 'inherit' });
}

function short(value) {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value < 0.1 ? value.toFixed(3) : value.toPrecision(3);
}

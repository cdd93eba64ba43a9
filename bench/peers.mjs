// Rows beside packages of others from npm. Run in a process of its own: the kit wants to hear it is on a Mac.
import Sqlite from 'better-sqlite3';
import { decodeAttributedBody } from '../dist/src/chatdb/attributed-body.js';
import { sideBySide } from './figures.mjs';

const [path, rounds, roundMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const rows = [];
const sqlite = new Sqlite(path, { readonly: true });
const blobs = sqlite.prepare('SELECT attributedBody FROM message ORDER BY ROWID').pluck().all();
const { Unarchiver } = await import('@parseaple/typedstream');
const theirText = (blob) => Unarchiver.open(blob).decodeAll()[0].values[0].string;
const some = blobs.filter((_, at) => at % Math.ceil(blobs.length / 2000) === 0);
const different = some.filter((blob) => theirText(blob) !== decodeAttributedBody(blob)).length;
let at = 0;
let other = 0;
const [ours, theirs] = sideBySide(
  [() => decodeAttributedBody(some[at++ % some.length]), () => theirText(some[other++ % some.length])],
  { rounds, roundMs },
);
rows.push({
  what: 'attributedBody, one blob',
  rival: '@parseaple/typedstream',
  postern: ours,
  rivals: theirs,
  unit: 'µs',
  ratio: theirs.median / ours.median,
  least: 20,
  isWrong: different > 0,
  note: `${different} of ${some.length} texts differ`,
});
process.stdout.write(JSON.stringify(rows));

import { resolve } from 'node:path';
import { type Fault, type VerifyProgress, verifyArchive } from '../../archive/verify.ts';
import { systemClock } from '../../runtime/clock.ts';
import { archiveFailure } from '../archive-failure.ts';
import { type ClientContext, EXIT, type PlaceOptions } from '../context.ts';
import { json } from '../output/text.ts';
import { progressOf } from '../output/work-progress.ts';
import { reportRefusal } from '../service-connection.ts';

export interface VerifyCommandOptions extends PlaceOptions {
  readonly json?: boolean;
}

/** `postern export verify`: 0, or 65 with the first wrong line of each file. */
export function verify(folder: string, options: VerifyCommandOptions, context: ClientContext): Promise<number> {
  return reportRefusal(options, context, () =>
    archiveFailure('The archive was not checked', () => run(resolve(folder), options, context)),
  );
}

async function run(folder: string, options: VerifyCommandOptions, context: ClientContext): Promise<number> {
  const signal = context.untilEnded();
  const report = await verifyArchive({
    folder,
    signal,
    onProgress: progressOf<VerifyProgress>(context, systemClock, ({ bytes, totalBytes }) => ({
      doing: 'Checking',
      done: bytes / 1e6,
      total: totalBytes / 1e6,
      unit: 'MB',
    })),
  });
  context.progress(undefined);
  const { faults, files, lines, attachments, unsealed, seal } = report;
  if (options.json === true) context.stdout(json({ folder, ...report }, 2));
  else {
    for (const fault of faults) context.stdout(context.paint('red', sentenceOf(fault)));
    const counted = `${count(lines)} lines of ${count(files)} files, and ${count(attachments)} attachments`;
    if (faults.length === 0) context.stdout(`Everything is as it was written: ${counted}.`, `Seal: ${seal}`);
    else context.stdout(`Checked ${counted}.`);
    if (unsealed > 0) {
      context.stdout(`The last run did not end: ${count(unsealed)} lines are not sealed. Run postern export again.`);
    }
  }
  if (signal.aborted) return EXIT.startAgain;
  return faults.length === 0 ? EXIT.ok : EXIT.refusedInput;
}

function sentenceOf({ file, line, what }: Fault): string {
  return line === undefined ? `${file} ${what}.` : `${file}, line ${count(line)}: it ${what}.`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}

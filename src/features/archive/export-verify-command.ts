import { resolve } from 'node:path';
import type { ClientContext } from '../../core/cli/client-context.ts';
import { EXIT, type FolderOptions } from '../../core/cli/context.ts';
import { reportFailure } from '../../core/cli/failure.ts';
import { json, oneLine } from '../../core/cli/output/text.ts';
import { counted, number } from '../../core/model/figures.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { FILES, isGenerated, PEOPLE_FILE } from './archive-layout.ts';
import { ArchiveComparison, type Comparison } from './compare.ts';
import { openMessages } from './messages-source.ts';
import { type Fault, type VerifyProgress, type VerifyReport, verifyArchive } from './verify.ts';
import { progressOf } from './work-progress.ts';

export interface VerifyCommandOptions extends FolderOptions {
  readonly againstChatDb?: boolean;
  readonly json?: boolean;
}

/**
 * `postern export verify`: checks an archive and prints the first fault of each file. Exits with 65 if there is a
 * fault, and with 75 if it was interrupted.
 */
export function verify(folder: string, options: VerifyCommandOptions, context: ClientContext): Promise<number> {
  return reportFailure('The archive was not checked', options, context, () => run(resolve(folder), options, context));
}

async function run(folder: string, options: VerifyCommandOptions, context: ClientContext): Promise<number> {
  const signal = context.untilEnded();
  const comparison = options.againstChatDb === true ? new ArchiveComparison() : undefined;
  try {
    const report = await verifyArchive({
      folder,
      signal,
      ...(comparison !== undefined && { onLine: (line) => comparison.add(line) }),
      onProgress: progressOf<VerifyProgress>(context, systemClock, ({ bytes, totalBytes }) => ({
        doing: 'Checking',
        done: bytes / 1e6,
        total: totalBytes / 1e6,
        unit: 'MB',
      })),
    });
    const compared = signal.aborted ? undefined : comparison && (await compare(comparison, signal, options, context));
    context.progress(undefined);
    if (signal.aborted) {
      if (options.json === true) context.stdout(json({ folder, ...report, seal: undefined, interrupted: true }, 2));
      else context.stdout(...faultsOf(report, context), `Interrupted: checked ${countsOf(report)} so far.`);
      return EXIT.startAgain;
    }
    if (options.json === true) {
      context.stdout(json({ folder, ...report, ...(compared && { against_chat_db: compared }) }, 2));
    } else say(report, compared, context);
    return report.faults.length === 0 ? EXIT.ok : EXIT.refusedInput;
  } finally {
    comparison?.close();
  }
}

async function compare(
  comparison: ArchiveComparison,
  signal: AbortSignal,
  options: VerifyCommandOptions,
  context: ClientContext,
): Promise<Comparison> {
  const messages = await openMessages(options, context);
  const step = progressOf<readonly [number, number]>(context, systemClock, ([done, total]) => ({
    doing: 'Comparing',
    done,
    total,
    unit: 'messages',
  }));
  try {
    return await comparison.with({
      source: messages.source,
      signal,
      onProgress: (done, total) => step([done, total]),
    });
  } finally {
    await messages.close();
  }
}

function say(report: VerifyReport, compared: Comparison | undefined, context: ClientContext): void {
  const { faults, unsealed, seal } = report;
  const checked = countsOf(report);
  context.stdout(...faultsOf(report, context));
  if (faults.length > 0) context.stdout(`Checked ${checked}.`);
  else if (seal === '') context.stdout(`What was written is unchanged: ${checked}. Nothing is sealed yet.`);
  else context.stdout(`Nothing has changed since it was archived: ${checked}.`, `Seal: ${seal}`);
  if (faults.some(isOfStoredFile)) context.stdout(ABOUT_STORED_FILES);
  if (faults.some(({ file }) => file !== PEOPLE_FILE && isGenerated(file))) context.stdout(ABOUT_GENERATED_FILES);
  if (seal === '' && unsealed === 0) context.stdout('No export has finished. Run postern export again.');
  if (unsealed > 0) {
    context.stdout(
      `The last export did not finish and left ${counted(unsealed, 'line')} without a seal. Run postern export again.`,
    );
  }
  if (compared === undefined) return;
  const { same, not_archived: notArchived, gone, differs, differing } = compared;
  context.stdout(
    `Compared with chat.db: ${number(same)} the same, ${number(notArchived)} not archived, ${number(gone)} gone from chat.db, ${number(differs)} with different content.`,
    ...differing.slice(0, MAX_NAMED).map((guid) => `  ${oneLine(guid)}`),
  );
  if (differing.length > MAX_NAMED) context.stdout('  … --json names more of them.');
}

function faultsOf({ faults }: VerifyReport, context: ClientContext): readonly string[] {
  return faults.map((fault) => context.paint('red', sentenceOf(fault)));
}

function countsOf({ lines, files, attachments }: VerifyReport): string {
  return `${counted(lines, 'line')} of ${counted(files, 'file')}, and ${counted(attachments, 'attachment')}`;
}

const MAX_NAMED = 10;
const ABOUT_STORED_FILES =
  'Move changed files out of the archive, then run postern export. It copies each missing file again if the original is still the same.';

const ABOUT_GENERATED_FILES = 'Delete changed pages and a changed index.db: the next postern export makes them again.';

function isOfStoredFile({ file, what }: Fault): boolean {
  return file.startsWith(FILES) || what.startsWith(`names ${FILES}`);
}

function sentenceOf({ file, line, what }: Fault): string {
  return line === undefined ? `${file} ${what}.` : `${file}, line ${number(line)}: it ${what}.`;
}

import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ClientContext } from '../../core/cli/client-context.ts';
import { EXIT, type FolderOptions } from '../../core/cli/context.ts';
import { reportFailure } from '../../core/cli/failure.ts';
import { json } from '../../core/cli/output/text.ts';
import { Refusal } from '../../core/cli/service-connection.ts';
import { quoted } from '../../core/model/command-words.ts';
import { bytesOf, counted } from '../../core/model/figures.ts';
import { lookupTable } from '../../core/model/lookup-table.ts';
import { localTimeZone, systemClock } from '../../core/runtime/clock.ts';
import { preferLittleGarbage } from '../../core/runtime/memory.ts';
import { destination, foldersOfMessages } from './destination.ts';
import { exportArchive } from './export.ts';
import type { ExportProgress, ExportReport } from './export-report.ts';
import { openMessages } from './messages-source.ts';
import type { AttachmentMode } from './stored-files.ts';
import { progressOf } from './work-progress.ts';

export interface ExportCommandOptions extends FolderOptions {
  readonly out?: string;
  readonly conversation?: readonly string[];
  readonly since?: number;
  readonly until?: number;
  readonly attachments?: AttachmentMode;
  readonly html?: 'on' | 'off';
  readonly json?: boolean;
}

/** `postern export`: creates an archive of everything in chat.db, or extends one. */
export function exportMessages(
  folder: string | undefined,
  options: ExportCommandOptions,
  context: ClientContext,
): Promise<number> {
  return reportFailure('The export ended', options, context, () => run(folder, options, context));
}

async function run(given: string | undefined, options: ExportCommandOptions, context: ClientContext): Promise<number> {
  const { out, attachments = 'copy' } = options;
  if (given !== undefined) {
    throw new Refusal(EXIT.usage, `Name the folder with --out: \`postern export --out ${quoted(given)}\``);
  }
  if (out === undefined) {
    throw new Refusal(EXIT.usage, 'Say where to put the archive, as in: postern export --out ~/Documents/Messages');
  }
  preferLittleGarbage();
  const messages = await openMessages(options, context);
  try {
    const folder = destination(out, [
      { path: messages.configFolder, holds: "Postern's configuration" },
      ...foldersOfMessages(context.environment.homeFolder, messages.chatDbPath),
    ]);
    const conversations = await chosen(options.conversation, messages.conversationsOf);
    // Opens chat.db now, so that a problem with it is reported before anything is created.
    messages.source.count();
    await messages.naming.ready();
    const report = await exportArchive({
      folder,
      source: messages.source,
      attachments,
      files: messages.files,
      conversations,
      sinceMs: options.since,
      untilMs: options.until,
      names: messages.naming.names,
      html: options.html !== 'off',
      timeZone: localTimeZone(),
      clock: systemClock,
      version: context.version,
      mac: hostname(),
      signal: context.untilEnded(),
      onProgress: progressOf<ExportProgress>(context, systemClock, ({ step, done, total }) => ({
        doing: step === 'rows' ? 'Exporting' : 'Making pages',
        done,
        total,
        unit: step === 'rows' ? 'messages' : 'years',
      })),
    });
    context.progress(undefined);
    if (options.json === true) context.stdout(json({ folder, ...report }, 2));
    else context.stdout(...summary(folder, report, options));
    return report.isInterrupted ? EXIT.startAgain : EXIT.ok;
  } finally {
    await messages.close();
  }
}

async function chosen(
  given: readonly string[] | undefined,
  find: (one: string) => Promise<readonly string[]>,
): Promise<ReadonlySet<string> | undefined> {
  if (given === undefined) return undefined;
  const found = await Promise.all(given.map(async (one) => ({ one, guids: await find(one) })));
  const unknown = found.filter(({ guids }) => guids.length === 0).map(({ one }) => one);
  if (unknown.length > 0) {
    throw new Refusal(
      EXIT.refusedInput,
      `There is no conversation with ${unknown.join(', ')}. Nothing was exported.`,
      'Name it by its id, its address, or a name in Contacts.',
    );
  }
  return new Set(found.flatMap(({ guids }) => guids));
}

function summary(folder: string, report: ExportReport, options: ExportCommandOptions): readonly string[] {
  const { added, changed, removed, files, missing, isInterrupted, seal, elsewhere, notConverted } = report;
  const lines = [
    `${counted(added, 'new line')}, ${counted(changed, 'changed message')}, ${counted(removed, 'deleted message')} in ${folder}.`,
  ];
  if (files > 0) lines.push(`Copied ${counted(files, 'attachment')} (${bytesOf(report.fileBytes)}).`);
  const absent = Object.entries(missing).filter(([reason]) => reason !== 'not_asked');
  if (absent.length > 0) {
    const total = absent.reduce((sum, [, count]) => sum + count, 0);
    const reasons = absent.map(([reason, count]) => `${count} ${REASONS[reason] ?? reason}`).join(', ');
    lines.push(`${counted(total, 'attachment')} could not be copied: ${reasons}. Later runs try them again.`);
  }
  if (notConverted > 0) lines.push(`${counted(notConverted, 'attachment')} could not be converted.`);
  if (elsewhere > 0) {
    lines.push(`${counted(elsewhere, 'message')} in the archive came from another chat.db and are not in this one.`);
  }
  lines.push(...report.warnings);
  if (isInterrupted) lines.push('Interrupted. To continue, run the same command again.');
  else {
    lines.push(
      ...(options.html === 'off' ? [] : [`To read it, open ${join(folder, 'index.html')} in a browser.`]),
      `Seal: ${seal}`,
      `An export checks only the end of each file. To check every line and every attachment: postern export verify ${quoted(folder)}`,
    );
  }
  return lines;
}

const REASONS: Readonly<Record<string, string>> = lookupTable({
  in_cloud: 'only in iCloud',
  downloading: 'being downloaded',
  missing: 'missing on this Mac',
  not_readable: 'not readable',
  changed: 'changed while being copied',
});

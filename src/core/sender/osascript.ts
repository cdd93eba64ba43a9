import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../model/ports/host-ports.ts';
import type { MessagesApp, RunOutcome, SendPart } from '../model/ports/sending-ports.ts';
import { pause } from '../runtime/clock.ts';
import { type CommandResult, commandRunner } from '../runtime/command.ts';
import { scriptErrorNumber } from '../runtime/script-error.ts';
import { isRefused, NOT_RUNNING } from './send-failure.ts';

/** Time after which a running script is killed (decision D3). */
const RUN_LIMIT_MS = 30_000;
/** The longest wait for Messages to start (decision D2). */
const OPEN_LIMIT_MS = 10_000;
const POLL_MS = 300;
/** Pause after Messages has started, because an event sent at once may be lost. */
const SETTLE_MS = 1000;

const SEND_SCRIPT = fileURLToPath(new URL('./send.applescript', import.meta.url));
const CHATS_SCRIPT = fileURLToPath(new URL('./chats.applescript', import.meta.url));

/**
 * The environment variables of every script, besides those with the data of a send. LANG sets the encoding in which
 * osascript writes errors; the data are read as UTF-8 in any case. Apple Events need no HOME: the session is inherited
 * through Mach.
 */
const ENVIRONMENT = { LANG: 'en_US.UTF-8' };

export interface OsascriptParts {
  /** Absolute path of osascript. `open` is expected in the same folder. */
  readonly path: string;
  readonly clock: Clock;
  /** The permission to control Messages. */
  readonly permission?: {
    /** Called with the time that a send took, if Messages accepted it. */
    noteAnswer(tookMs: number): void;
    /** Called if macOS refused a send because the permission is missing. */
    noteRefusal(): void;
    isAsking(): Promise<boolean>;
  };
}

/** Drives Messages by constant scripts, each in a separate process (decisions D1 to D3). */
export function osascript({ path, clock, permission }: OsascriptParts): MessagesApp {
  const run = commandRunner(ENVIRONMENT, clock);
  const runScript = (script: string, signal: AbortSignal, env: Record<string, string> = {}): Promise<CommandResult> =>
    run(path, [script], { timeoutMs: RUN_LIMIT_MS, hasOwnGroup: true, signal, env });

  return {
    isAsking: async () => permission?.isAsking() ?? false,

    async run(part, signal) {
      const startedMs = clock.monotonic();
      const outcome = outcomeOf(await runScript(SEND_SCRIPT, signal, environment(part)));
      if (outcome.kind === 'done') permission?.noteAnswer(clock.monotonic() - startedMs);
      if (isRefused(outcome)) permission?.noteRefusal();
      return outcome;
    },

    async open(signal) {
      const endMs = clock.monotonic() + OPEN_LIMIT_MS;
      const limits = { timeoutMs: OPEN_LIMIT_MS, hasOwnGroup: true, signal };
      const opened = await run(join(dirname(path), 'open'), ['-gjb', 'com.apple.MobileSMS'], limits);
      if (opened.code !== 0) return;
      // Without a message in its environment, the script sends nothing and only reports whether Messages is running.
      while (isNotRunning(await runScript(SEND_SCRIPT, signal))) {
        if (signal.aborted || clock.monotonic() + POLL_MS > endMs) return;
        await pause(clock, POLL_MS, signal);
      }
      await pause(clock, SETTLE_MS, signal);
    },

    async liveChatIds(signal) {
      const { code, stdout } = await runScript(CHATS_SCRIPT, signal);
      return code === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
    },
  };
}

function environment({ recipient, chatId, service, content }: SendPart): Record<string, string> {
  return {
    POSTERN_RECIPIENT: recipient,
    POSTERN_CHAT_ID: chatId ?? '',
    POSTERN_SERVICE: service ?? '',
    ...('body' in content ? { POSTERN_BODY: content.body } : { POSTERN_ATTACHMENT: content.attachment }),
  };
}

function outcomeOf({ code, stderr, startError }: CommandResult): RunOutcome {
  if (startError !== undefined) return { kind: 'not_started', message: startError };
  if (code === 0) return { kind: 'done' };
  if (code === null) return { kind: 'killed' };
  return { kind: 'failed', number: scriptErrorNumber(stderr), message: stderr.trimEnd().split('\n').at(-1) ?? '' };
}

function isNotRunning(result: CommandResult): boolean {
  const outcome = outcomeOf(result);
  return outcome.kind === 'failed' && outcome.number === NOT_RUNNING;
}

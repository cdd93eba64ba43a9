import type { Command, Scenario, ScriptEnd } from './commands.ts';

const ERROR_NUMBERS: Partial<Record<Scenario, number>> = {
  no_such_chat: -1728,
  not_permitted: -1743,
  connection_lost: -609,
  timed_out: -1712,
  not_coerced: -1700,
  refused: -10000,
};

/** The fault of one run of osascript. */
export interface Happening {
  readonly name: Scenario;
  readonly delayMs: number;
  /** True if the message is sent despite the fault. */
  readonly goesOut: boolean;
  /** Delay from the end of osascript to the row of a message that is sent despite the fault. */
  readonly rowAfterMs: number;
  /**
   * How osascript ends. Undefined if the fault is not a failure of osascript, but a delay or a wrong row in chat.db.
   */
  readonly end: ScriptEnd | undefined;
}

/** Faults of the next runs of osascript, and the language in which Messages reports them. */
export class Scenarios {
  #language: Language = 'en';
  #current: Extract<Command, { do: 'scenario' }> | undefined;
  #left = 0;

  begin(command: Extract<Command, { do: 'scenario' }>): void {
    this.#language = command.language ?? 'en';
    this.#current = command;
    this.#left = command.times ?? 1;
  }

  /** Counts the run of osascript that begins now. Returns the fault of that run; undefined if it has none. */
  next(): Happening | undefined {
    const current = this.#current;
    if (current === undefined || current.name === 'none') return undefined;
    this.#left -= 1;
    if (this.#left <= 0) this.#current = undefined;
    const { name, delayMs = 20_000, goesOut = false, rowAfterMs = 0 } = current;
    return { name, delayMs, goesOut, rowAfterMs, end: this.#endOf(name) };
  }

  error(number: number): ScriptEnd {
    return scriptError(number, this.#language);
  }

  #endOf(name: Scenario): ScriptEnd | undefined {
    if (name === 'hang') return { exitCode: 0, hangs: true };
    if (name === 'crash') return { exitCode: 1, crashes: true };
    const number = ERROR_NUMBERS[name];
    return number === undefined ? undefined : this.error(number);
  }
}

export type Language = 'en' | 'de' | 'ja';

/** Messages reports errors in the Mac's language. Only the number in the last parentheses is equal in all languages. */
const WORDS: Readonly<Record<Language, (what: string) => string>> = {
  en: (what) => `execution error: Messages got an error: ${what}`,
  de: (what) => `execution error: Fehler in „Messages“: ${what}`,
  ja: (what) => `execution error: “メッセージ”でエラーが起きました: ${what}`,
};

const SENTENCES: Readonly<Record<number, Readonly<Record<Language, string>>>> = {
  [-1728]: {
    en: 'Can’t get chat id.',
    de: '„chat id“ kann nicht gelesen werden.',
    ja: 'chat idを取り出すことはできません。',
  },
  [-1743]: {
    en: 'Not authorized to send Apple events to Messages.',
    de: 'Keine Berechtigung zum Senden von Apple-Events an Messages.',
    ja: 'メッセージにApple Eventsを送信する権限がありません。',
  },
  [-600]: {
    en: 'Application isn’t running.',
    de: 'Das Programm läuft nicht.',
    ja: 'アプリケーションが実行されていません。',
  },
  [-609]: { en: 'Connection is invalid.', de: 'Die Verbindung ist ungültig.', ja: '接続が無効です。' },
  [-1712]: {
    en: 'AppleEvent timed out.',
    de: 'AppleEvent-Zeitüberschreitung.',
    ja: 'AppleEventがタイムアウトしました。',
  },
  [-10000]: {
    en: 'AppleEvent handler failed.',
    de: 'AppleEvent-Routine fehlgeschlagen.',
    ja: 'AppleEventハンドラが失敗しました。',
  },
};

/**
 * Returns how osascript ends after an AppleScript error: always with exit code 1, and with the number at the end of
 * stderr.
 */
function scriptError(number: number, language: Language = 'en'): ScriptEnd {
  const sentence = SENTENCES[number]?.[language] ?? 'An error of type.';
  return { exitCode: 1, stderr: `send.applescript:1204:1267: ${WORDS[language](sentence)} (${number})\n` };
}

import type { ScriptEnd } from './commands.ts';

export type Language = 'en' | 'de' | 'ja';

/** Messages speaks the language of the Mac: only the number in the last parentheses is the same everywhere. */
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

/** As osascript ends with an AppleScript error: exit code 1 for all of them, the number at the end of stderr. */
export function scriptError(number: number, language: Language = 'en'): ScriptEnd {
  const sentence = SENTENCES[number]?.[language] ?? 'An error of type.';
  return { exitCode: 1, stderr: `send.applescript:1204:1267: ${WORDS[language](sentence)} (${number})\n` };
}

import type { Command, Scenario, ScriptEnd } from './commands.ts';
import { type Language, scriptError } from './script-errors.ts';

const ERROR_NUMBERS: Partial<Record<Scenario, number>> = {
  no_such_chat: -1728,
  not_permitted: -1743,
  connection_lost: -609,
  timed_out: -1712,
  refused: -10000,
};

/** What shall go wrong with one run of osascript. */
export interface Happening {
  readonly name: Scenario;
  readonly delayMs: number;
  /** The message goes out all the same. */
  readonly goesOut: boolean;
  /** How osascript ends; undefined when that is not what goes wrong. */
  readonly end: ScriptEnd | undefined;
}

/** What shall go wrong with the next runs of osascript, and in which language Messages says so. */
export class Scenarios {
  #language: Language = 'en';
  #current: Extract<Command, { do: 'scenario' }> | undefined;
  #left = 0;

  begin(command: Extract<Command, { do: 'scenario' }>): void {
    this.#language = command.language ?? 'en';
    this.#current = command;
    this.#left = command.times ?? 1;
  }

  /** For the run that begins now. */
  next(): Happening | undefined {
    const current = this.#current;
    if (current === undefined || current.name === 'none') return undefined;
    this.#left -= 1;
    if (this.#left <= 0) this.#current = undefined;
    const { name, delayMs = 20_000, goesOut = false } = current;
    return { name, delayMs, goesOut, end: this.#endOf(name) };
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

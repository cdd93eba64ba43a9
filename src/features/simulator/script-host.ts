import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { Behaviour, ScriptEnd } from './commands.ts';

/** Timeouts of Apple events in milliseconds, as Postern's scripts set them. */
export const EVENT_LIMIT_MS = { send: 25_000, probe: 600_000 } as const;

const DEFAULTS: Behaviour = {
  automation: 'granted',
  accounts: [
    { service: 'iMessage', isEnabled: true },
    { service: 'SMS', isEnabled: true },
    { service: 'RCS', isEnabled: true },
  ],
  livePrefix: null,
  liveList: 'complete',
  chooses: {},
  stagedFiles: 'copied',
  selfChat: 'mirrored',
  push: 'works',
  links: 'two_rows',
  ownRows: 'marked',
  seed: null,
};

interface Dialog {
  readonly end: (answer: 'allowed' | 'refused' | 'gone') => void;
  readonly ended: Promise<'allowed' | 'refused' | 'gone'>;
  waiting: number;
}

/**
 * Messages as osascript sees it: whether it runs, and how macOS answers a program that wants to control it. Each
 * behaviour was reported from a real Mac.
 */
export class ScriptHost {
  readonly #clock: Clock;
  readonly #fail: (number: number) => ScriptEnd;
  #behaviour = DEFAULTS;
  #isRunning = true;
  /** Time from `open` until Messages runs. */
  #startupMs = 0;
  #dialog: Dialog | undefined;
  #dialogsShown = 0;

  constructor(clock: Clock, fail: (number: number) => ScriptEnd) {
    this.#clock = clock;
    this.#fail = fail;
  }

  get behaviour(): Behaviour {
    return this.#behaviour;
  }

  get dialog(): { readonly isOpen: boolean; readonly shown: number } {
    return { isOpen: this.#dialog !== undefined, shown: this.#dialogsShown };
  }

  /** Sets the behaviour. Members that are absent return to the behaviour of a Mac where everything works. */
  behave(behaviour: Partial<Behaviour>): void {
    this.#behaviour = { ...DEFAULTS, ...behaviour };
  }

  /** Quits Messages. The next `open` returns at once, but Messages runs only `startupMs` later, as on an Intel Mac. */
  quit(startupMs: number): void {
    this.#isRunning = false;
    this.#startupMs = startupMs;
  }

  open(): void {
    const run = (): void => {
      this.#isRunning = true;
    };
    if (this.#startupMs === 0) run();
    else this.#clock.after(this.#startupMs, run);
  }

  /** Answers `application id … is running`, which sends no event and needs no permission. */
  running(): ScriptEnd {
    return this.#isRunning ? { exitCode: 0 } : this.#fail(-600);
  }

  /**
   * Sends an Apple event, which needs a running Messages and the user's consent. `signal` aborts when osascript has
   * ended.
   */
  async event(limitMs: number, signal: AbortSignal, work: () => Promise<ScriptEnd>): Promise<ScriptEnd> {
    if (!this.#isRunning) return this.#fail(-600);
    switch (this.#behaviour.automation) {
      case 'granted':
        return work();
      // The user has denied access. macOS 27.0 also answered -1743 to an app started by LaunchServices, at once and
      // without a dialog (reported of build 26A428).
      case 'denied':
        return this.#fail(-1743);
      case 'asks': {
        const answer = await this.#ask(limitMs, signal);
        if (answer === 'allowed') return work();
        return this.#fail(answer === 'refused' ? -1743 : -1712);
      }
    }
  }

  /** Answers the permission dialog as the user would. Returns false if no dialog is open. */
  answer(isAllowed: boolean): boolean {
    const dialog = this.#dialog;
    if (dialog === undefined) return false;
    this.#behaviour = { ...this.#behaviour, automation: isAllowed ? 'granted' : 'denied' };
    dialog.end(isAllowed ? 'allowed' : 'refused');
    return true;
  }

  /**
   * Shows the permission dialog, or waits for the one that is already open. The dialog disappears when the event times
   * out (T0mSIlver/localvoxtral PR #183, measured: a timeout of one second gave a dialog of one second) or when the
   * asking program ends.
   */
  async #ask(limitMs: number, signal: AbortSignal): Promise<'allowed' | 'refused' | 'gone'> {
    const dialog = this.#dialog ?? this.#show();
    dialog.waiting += 1;
    const given = await new Promise<'allowed' | 'refused' | 'gone'>((resolve) => {
      const cancel = this.#clock.after(limitMs, () => resolve('gone'));
      signal.addEventListener('abort', () => resolve('gone'), { once: true });
      void dialog.ended.then((answer) => {
        cancel();
        resolve(answer);
      });
    });
    dialog.waiting -= 1;
    if (dialog.waiting === 0) dialog.end('gone');
    return given;
  }

  #show(): Dialog {
    this.#dialogsShown += 1;
    let close: (answer: 'allowed' | 'refused' | 'gone') => void = () => {};
    const ended = new Promise<'allowed' | 'refused' | 'gone'>((resolve) => {
      close = resolve;
    });
    const end = (answer: 'allowed' | 'refused' | 'gone'): void => {
      this.#dialog = undefined;
      close(answer);
    };
    this.#dialog = { end, ended, waiting: 0 };
    return this.#dialog;
  }
}

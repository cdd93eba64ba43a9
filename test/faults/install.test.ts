import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { Launchd } from '../../installer/launchd.ts';
import type { Machine } from '../../installer/machine.ts';
import { uninstall } from '../../installer/uninstall.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { failingCommands } from '../support/failing-commands.ts';
import { machFile } from '../support/mach-o.ts';
import { newSeed } from '../support/seed.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const FIRST_SEED = newSeed('installations');
const SEEDS = Array.from({ length: isLong ? 200 : 2 }, (_, index) => FIRST_SEED + index);
const ROUNDS = 6;
const VERSIONS: readonly [string, ...string[]] = ['0.1.0', '0.2.0', '0.3.0'];

/** The state of a Mac as seen from outside. */
interface Picture {
  /** The version that answers. */
  readonly running: string | undefined;
  readonly cdhash: string | undefined;
  readonly grants: Readonly<Record<string, string>>;
}

async function pictureOf(mac: StandInMac): Promise<Picture> {
  const url = `http://127.0.0.1:${mac.port}/api/v1/health`;
  const answer = await fetch(url).then(
    (response) => response.json() as Promise<{ version: string }>,
    () => undefined,
  );
  return { running: answer?.version, cdhash: mac.cdhash, grants: mac.grants };
}

/** The trouble during one round. */
interface Trouble {
  /** Number of the call that fails, counted from the start. */
  readonly call: number | undefined;
  /** True if later calls of the same program and verb fail too. */
  readonly lasting: boolean;
  /** True if the failing program still does its work. */
  readonly runs: boolean;
  readonly isVersionBroken: boolean;
  readonly isScriptRefused: boolean;
  /** A file that cannot be replaced. */
  readonly obstacle: string | undefined;
}

function drawTrouble(chance: Chance, { layout }: StandInMac): Trouble {
  return {
    call: chance.in(0.5) ? chance.below(40) : undefined,
    lasting: chance.in(0.2),
    runs: chance.in(0.3),
    isVersionBroken: chance.in(0.15),
    isScriptRefused: chance.in(0.1),
    obstacle: chance.in(0.1) ? chance.of([layout.command, layout.current, layout.plist]) : undefined,
  };
}

function countOf({ call, isVersionBroken, isScriptRefused, obstacle }: Trouble): number {
  return [call !== undefined, isVersionBroken, isScriptRefused, obstacle !== undefined].filter(Boolean).length;
}

/** Exit codes of Darwin that this call can end with. From `print`, 113 would mean something else and be no failure. */
function codesOf(line: string): readonly [number, ...number[]] {
  if (line.startsWith('launchctl print')) return [1, 5];
  if (line.startsWith('launchctl boot')) return [5, 36, 37, 119, 122, 125, 134];
  return line.startsWith('tccutil') ? [70] : [1];
}

interface Deed {
  readonly name: string;
  run(): void | Promise<void>;
}

interface Outcome {
  readonly error: unknown;
  /** Everything that the user read. */
  readonly output: string;
}

/** Plays the rounds of one seed on a Mac. */
class Life {
  readonly #mac: StandInMac;
  readonly #chance: Chance;
  readonly story: string[] = [];
  /** True if the app's hash could not be read, after which the permissions are reset to be safe. */
  #wasHashUnreadable = false;

  constructor(mac: StandInMac, seed: number) {
    this.#mac = mac;
    this.#chance = new Chance(seed);
  }

  async go(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (this.#chance.in(0.2)) await this.#meddle();
      if (round > 0 && this.#chance.in(0.2)) await this.#uninstall();
      else await this.#install();
    }
  }

  /** Installs or updates once, with some trouble, and checks what must hold afterwards. */
  async #install(): Promise<void> {
    const mac = this.#mac;
    const chance = this.#chance;
    const trouble = drawTrouble(chance, mac);
    const version = chance.of(VERSIONS);
    const permissions = { full_disk_access: 'granted', automation: 'granted' } as const;
    mac.behave({ permissions, broken: trouble.isVersionBroken ? [version] : [] });
    const execPath = mac.keep('chosen-node', chance.in(0.2) ? machFile({ libraries: [] }) : machFile());
    const options = mac.options({ version, renewRuntime: chance.in(0.25), permissionsLimitMs: 0 });

    const before = await pictureOf(mac);
    const hadPropertyList = existsSync(mac.layout.plist);
    const name = `install ${version}`;
    const { error, output } = await this.#attempt(name, trouble, (machine) =>
      install({ ...machine, execPath }, options),
    );
    const after = await pictureOf(mac);

    if (error === undefined) expect(after.running).toBe(version);
    else {
      expect(countOf(trouble)).toBeGreaterThan(0);
      if (before.running !== undefined && after.running === undefined) {
        expect(output).toContain('Postern is not running');
      }
      const canGoBack = hadPropertyList && !(trouble.isVersionBroken && before.running === version);
      if (before.running !== undefined && canGoBack && countOf(trouble) === 1 && !trouble.lasting) {
        expect(after.running).toBe(before.running);
      }
    }
    for (const [service, cdhash] of Object.entries(before.grants)) {
      if (cdhash === after.cdhash || after.cdhash === undefined) {
        if (!this.#wasHashUnreadable) expect(after.grants[service]).toBe(cdhash);
      }
      // Otherwise System Settings would show a switch that is on and has no effect.
      else if (error === undefined && after.grants[service] === cdhash) {
        expect(output).toContain('could not be removed');
      }
    }
    if (error === undefined && chance.in(0.7)) mac.grant();
  }

  async #uninstall(): Promise<void> {
    const mac = this.#mac;
    const purge = this.#chance.in(0.4);
    const before = await pictureOf(mac);
    const trouble = { ...drawTrouble(this.#chance, mac), obstacle: undefined };
    const name = purge ? 'uninstall --purge' : 'uninstall';
    const { error, output } = await this.#attempt(name, trouble, (machine) => uninstall(machine, { purge }));
    const after = await pictureOf(mac);

    if (error === undefined) {
      expect(after.running).toBeUndefined();
      const { app, plist, versions, current, command } = mac.layout;
      expect([app, plist, versions, current, command].filter((path) => existsSync(path))).toEqual([]);
      if (purge && Object.keys(after.grants).length > 0) expect(output).toContain('click −');
    } else if (after.running !== undefined) expect(output).toContain('may still be running');
    if (!purge) expect(after.grants).toEqual(before.grants);
    // The user removes by hand what could not be reset, as told.
    else mac.forgetGrants();
  }

  /** Does something that a user could do between two installations. */
  async #meddle(): Promise<void> {
    const mac = this.#mac;
    const deeds: readonly [Deed, ...Deed[]] = [
      { name: 'Finder tags the app', run: () => void mac.keep('finder-info') },
      { name: 'the app is deleted', run: () => rmSync(mac.layout.app, { recursive: true, force: true }) },
      { name: 'the agent is disabled', run: () => void mac.keep('disabled-local.postern.agent') },
      { name: 'the agent is quit', run: () => new Launchd(mac.run, mac.clock, 501, 'local.postern.agent').bootout() },
      { name: 'the property list is deleted', run: () => rmSync(mac.layout.plist, { force: true }) },
    ];
    const deed = this.#chance.of(deeds);
    this.story.push(deed.name);
    await deed.run();
  }

  async #attempt(name: string, trouble: Trouble, work: (machine: Machine) => Promise<void>): Promise<Outcome> {
    const mac = this.#mac;
    let calls = -1;
    let failing: string | undefined;
    let code = 1;
    const matches = (line: string): boolean => {
      calls += 1;
      if (calls !== trouble.call) return trouble.lasting && failing !== undefined && line.startsWith(failing);
      failing = line.split(' ').slice(0, 2).join(' ');
      this.#wasHashUnreadable ||= failing === 'codesign -dvvv';
      code = this.#chance.of(codesOf(line));
      return true;
    };
    const run: Machine['run'] = (command, args, options) =>
      failingCommands(mac.run, { matches, code: () => code, runs: trouble.runs })(command, args, options);
    const { obstacle } = trouble;
    const blocked = obstacle && join(dirname(obstacle), `.${obstacle.split('/').at(-1)}.new`);
    if (blocked) mkdirSync(blocked, { recursive: true });
    if (trouble.isScriptRefused) mac.keep('unknown-words', 'return');
    const saidBefore = mac.said.length;
    const error = await work(mac.machine({ run })).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (blocked) rmSync(blocked, { recursive: true, force: true });
    mac.forget('unknown-words');

    const words = isAppError(error) ? [error.message, error.hint ?? ''] : [];
    const output = [...mac.said.slice(saidBefore), ...words].join('\n');
    this.story.push(`${name} with ${JSON.stringify(trouble)}; failed: ${failing ?? 'no call'} (${code})\n${output}`);
    // Every error thrown has a sentence for the user.
    if (error !== undefined) expect(isAppError(error)).toBe(true);
    return { error, output };
  }
}

let mac: StandInMac;
afterEach(() => mac.close());

describe('installations, updates and uninstallations in which anything may fail', () => {
  test.each(SEEDS)(
    'never leave a stopped gateway without a word, a lost permission, or a failure unnoticed (SEED=%d)',
    async (seed) => {
      mac = await StandInMac.start('jane', seed);
      const life = new Life(mac, seed);
      await life.go().catch((error: unknown) => {
        throw new Error(`${life.story.join('\n---\n')}\n---\nSEED=${seed}: ${String(error)}`, { cause: error });
      });
    },
    300_000,
  );
});

import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { signatureOf } from '../../../../installer/app-bundle.ts';
import { LABEL, type Layout, layoutOf } from '../../../../installer/install-layout.ts';
import { installLine } from '../../../../installer/install-line.ts';
import { Launchd } from '../../../../installer/launchd.ts';
import type { Machine } from '../../../../installer/machine.ts';
import { backgroundSwitch } from '../../../../installer/settings-panes.ts';
import { commandOnPath, pathAdvice } from '../../../../installer/shell-files.ts';
import { UNPROTECTED } from '../../../core/mac/sandbox.ts';
import { type Finding, fault, finding, ok, unsure } from '../../../core/model/finding.ts';

const TCC_LOG = `log stream --predicate 'subsystem == "com.apple.TCC"'`;

/**
 * Makes the checks that exist only on a Mac: the agent, the program that holds the permissions, the command `postern`,
 * and Messages. Never makes macOS prompt the user.
 */
export async function macFindings(machine: Machine): Promise<readonly Finding[]> {
  return [
    await agent(machine),
    await program(machine),
    command(machine),
    await messages(machine),
    await sandbox(machine),
  ];
}

async function agent(machine: Machine): Promise<Finding> {
  const layout = layoutOf(machine.home);
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);
  const job = await launchd.state();
  switch (job.kind) {
    case 'running':
      return ok('agent', `The agent runs as process ${job.pid}.`);
    case 'loaded':
      return fault(
        'agent',
        `The agent is loaded but does not run${job.lastExitCode === null ? '' : `; it ended with code ${job.lastExitCode}`}.`,
        `Look at ${layout.logs} (postern logs, postern logs --errors), then run: postern restart`,
      );
    case 'no_session':
      return fault(
        'agent',
        'Nobody is logged in at the screen, so no agent can run.',
        'Log in at the screen; for a Mac without one, switch on automatic login.',
      );
    case 'unknown':
      return unsure('agent', job.detail);
    case 'absent':
      if (!existsSync(layout.plist)) return fault('agent', 'The agent is not installed.', `Run: ${installLine()}`);
      return (await launchd.isDisabled()) === true
        ? fault(
            'agent',
            'The agent is disabled for this user.',
            `Run: launchctl enable ${launchd.target} — then: ${installLine()}`,
          )
        : fault(
            'agent',
            'The agent is installed but not loaded: it was quit, or switched off.',
            `Check in System Settings, in ${await backgroundSwitch(machine.run)}, that Postern is on. Then run: postern start`,
          );
  }
}

async function program(machine: Machine): Promise<Finding> {
  const layout = layoutOf(machine.home);
  if (!existsSync(layout.executable)) return fault('program', `${layout.app} is not there.`, `Run: ${installLine()}`);
  const signature = await signatureOf(machine, layout.app);
  if (signature === undefined) {
    return fault('program', `${layout.app} is damaged: its signature is gone.`, `Run: ${installLine()}`);
  }
  if (signature.isHardened) {
    return fault(
      'program',
      `${layout.executable} has the hardened runtime, so macOS refuses Automation without asking.`,
      `Run: ${installLine('--renew-runtime')}. To watch macOS decide: ${TCC_LOG}`,
    );
  }
  const isLinked = lstatSync(layout.current, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  const version = isLinked ? readlinkSync(layout.current).replace(/^versions\//, '') : null;
  if (version === null || !existsSync(layout.main)) {
    return fault('program', 'The installed code is gone.', `Run: ${installLine()}`);
  }
  return ok(
    'program',
    `The permissions belong to ${layout.executable} (cdhash ${signature.cdhash ?? 'unknown'}). The installed code is version ${version}.`,
  );
}

/** Checks that a shell finds the installed `postern`. */
function command(machine: Machine): Finding {
  const layout = layoutOf(machine.home);
  const found = commandOnPath(machine);
  if (found === undefined) {
    const what = existsSync(layout.command) ? pathAdvice(machine, layout) : `Run: ${installLine()}`;
    return finding('warning', 'command', 'postern is not on the PATH of this terminal.', what);
  }
  const { npmVersion } = found;
  if (npmVersion !== undefined) {
    const installed = installedVersion(layout);
    const sentence = `postern is ${found.path}, version ${npmVersion}, from npm.`;
    return installed === null || installed === npmVersion
      ? ok('command', sentence)
      : finding(
          'warning',
          'command',
          `${sentence} The installed agent is version ${installed}.`,
          'Run: postern install',
        );
  }
  return found.isOurs
    ? ok('command', `postern is ${found.path}.`)
    : finding('warning', 'command', `postern is ${found.path}, which is not the installed command.`, null);
}

/** Returns the version of the agent's code; null if none is installed. */
function installedVersion({ current }: Layout): string | null {
  const isLinked = lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLinked ? (/^versions\/(\d+\.\d+\.\d+(?:-[a-z]+\.?\d*)?)-/.exec(readlinkSync(current))?.[1] ?? null) : null;
}

/** Checks that attachments can be converted in a sandbox. */
async function sandbox({ run }: Machine): Promise<Finding> {
  const { code } = await run('sandbox-exec', ['-p', '(version 1) (allow default)', '/usr/bin/true']);
  return code === 0
    ? ok('converter_sandbox', 'Attachments are converted in a sandbox, without network and without your files.')
    : finding('warning', 'converter_sandbox', UNPROTECTED, 'SECURITY.md says what this means.');
}

async function messages({ run }: Machine): Promise<Finding> {
  const found = await run('pgrep', ['-x', 'Messages']);
  if (found.code === 0) return ok('messages', 'Messages is running.');
  if (found.code === 1) {
    return ok('messages', 'Messages is not running. Postern opens it to send; messages are received without it.');
  }
  return unsure('messages', 'Could not determine whether Messages is running.');
}

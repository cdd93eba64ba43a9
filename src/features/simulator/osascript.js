// The simulated `osascript` and `open`: passes its input to the simulated Messages over a socket and ends as the
// answer says. Plain JavaScript without dependencies, so that it starts quickly. Everything it needs is in its first
// arguments, because the real ones are started with an almost empty environment.
// osascript.js <osascript|open> <socket> <file for the record of calls> [original arguments]
import { appendFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { basename } from 'node:path';

const [tool, socketPath, recordPath, ...given] = process.argv.slice(2);
const names = ['RECIPIENT', 'CHAT_ID', 'SERVICE', 'BODY', 'ATTACHMENT'];
const values = Object.fromEntries(names.map((name) => [name, process.env[`POSTERN_${name}`]]));

// Values are recorded as hexadecimal UTF-8 too, so that a test can check every byte.
const record = {
  tool,
  arguments: given,
  environment: Object.keys(process.env).sort(),
  values,
  bytes: Object.fromEntries(
    names.flatMap((name) => (values[name] === undefined ? [] : [[name, Buffer.from(values[name]).toString('hex')]])),
  ),
};
appendFileSync(recordPath, `${JSON.stringify(record)}\n`, { mode: 0o600 });

const command = tool === 'open' ? { do: 'open' } : scriptCommand();
const socket = connect(socketPath, () => socket.write(`${JSON.stringify(command)}\n`));
let answer = '';
socket.on('error', () => {
  process.stderr.write('execution error: Messages got an error: Application isn’t running. (-600)\n');
  process.exitCode = 1;
});
socket.on('data', (chunk) => {
  answer += chunk;
  // A run that hangs waits until it is killed or Messages quits.
  if (answer.endsWith('\n') && !hangs(answer)) socket.end();
});
socket.on('end', () => {
  if (answer === '' || hangs(answer)) {
    process.stderr.write('execution error: Messages got an error: Connection is invalid. (-609)\n');
    process.exitCode = 1;
  } else {
    finish(JSON.parse(answer));
  }
});

function hangs(text) {
  return JSON.parse(text).result?.hangs === true;
}

function finish({ ok, result, error }) {
  if (!ok) {
    process.stderr.write(`${error}\n`);
    process.exitCode = 1;
  } else if (result.crashes) {
    process.kill(process.pid, 'SIGABRT');
  } else {
    process.stdout.write(result.stdout ?? '');
    process.stderr.write(result.stderr ?? '');
    process.exitCode = result.exitCode;
  }
}

function scriptCommand() {
  const [file, ...others] = given;
  if (file === undefined || others.length > 0 || !statSync(file, { throwIfNoEntry: false })?.isFile()) {
    process.stderr.write('osascript: exactly one argument is expected: a script file\n');
    process.exit(2);
  }
  const script = basename(file);
  if (script === 'automation.applescript') return { do: 'probe' };
  if (script === 'chats.applescript') return { do: 'chats' };
  if (script === 'accounts.applescript') return { do: 'accounts' };
  if (script !== 'send.applescript') {
    process.stderr.write(`osascript: ${script} is none of the scripts\n`);
    process.exit(2);
  }
  if (!values.BODY && !values.ATTACHMENT) return { do: 'running' };
  return {
    do: 'send',
    recipient: values.RECIPIENT ?? '',
    chatId: values.CHAT_ID ?? '',
    service: values.SERVICE ?? '',
    ...(values.ATTACHMENT ? { attachment: values.ATTACHMENT } : { body: values.BODY }),
  };
}

import { connected } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { quoted } from '../../core/model/command-words.ts';

/** Speaks imsg's JSON-RPC over stdin and stdout, for programs that start imsg. */
export const imsg = feature({
  name: 'imsg',
  // Keeps copies of attachments for the programs that it serves.
  needs: ['media'],
  commands(program) {
    connected(program.command('imsg'), { json: false })
      .description("Speak imsg's JSON-RPC over stdin and stdout, for programs such as OpenClaw.")
      .argument('[words...]', 'rpc, status or help, with the options of imsg')
      .allowUnknownOption()
      .helpOption(false)
      .examples('POSTERN_API_KEY=postern_… postern imsg rpc')
      .runs<[readonly string[]]>(async () => (await import('./imsg-command.ts')).imsgCommand);
  },
  clients({ secret, scopes, invocation }) {
    const needed = ['read', 'events', 'send'] as const;
    if (!needed.every((scope) => scopes.includes(scope))) return [];
    const { command, args } = invocation('imsg');
    const line = [command, ...args].map(quoted).join(' ');
    return [
      {
        client: 'OpenClaw',
        where: 'a file postern-imsg with mode 0700; cliPath in channels.imessage is its path',
        lines: ['#!/bin/sh', `export POSTERN_API_KEY='${secret}'`, `exec ${line} "$@"`],
      },
    ];
  },
});

import type { Command, CommanderError } from 'commander';
import { editDistance } from '../model/edit-distance.ts';

/** The names of the arguments that may begin with a dash. */
const FREE_TEXT = /^(?:text|query|words|name)$/;

/** Returns the mistake in the command line, and advice. */
export function usageMistake(error: CommanderError, program: Command): readonly [sentence: string, advice: string] {
  const commands = commandsIn(program);
  const command = commands.at(-1) ?? program;
  const path = commands.map((one) => one.name()).join(' ');
  const help = `${path} --help lists commands and options.`;
  const [word = '', ...rest] = program.args.slice(commands.length - 1);
  const isCommandWord = commandsOf(command).length > 0 && command.registeredArguments.length === 0;
  if (isCommandWord && word !== '' && !word.startsWith('-')) {
    const name = [...commands.slice(1).map((one) => one.name()), word].join(' ');
    const known = [...commandsOf(command), ...(command === program ? ['--version'] : [])];
    return [`there is no command ${name}.${suggestion(word, known)}`, help];
  }
  const later = rest.find((one) => commandsOf(command).includes(one));
  if (word.startsWith('-') && later !== undefined) {
    return [`${word} is an option of a command, and goes after it: ${path} ${later} ${word}`, help];
  }
  if (error.code === 'commander.excessArguments') {
    const surplus = command.args[command.registeredArguments.length] ?? '';
    if (surplus.startsWith('-')) return [`unexpected argument ${surplus}. Options go before --.`, help];
    return [`unexpected argument ${surplus}.${takes(command, /^text$/) ? ' Put the text in quotes.' : ''}`, help];
  }
  const sentence = error.message
    .replace(/^error: /, '')
    .replace(/\n/g, ' ')
    .replace(/\.?$/, '.');
  const mayBeText = error.code === 'commander.unknownOption' && takes(command, FREE_TEXT);
  return [`${sentence}${mayBeText ? ' If it is text, put -- before it, and all options before --.' : ''}`, help];
}

/** Reports whether an argument of the command has such a name. */
function takes(command: Command, name: RegExp): boolean {
  return command.registeredArguments.some((argument) => name.test(argument.name()));
}

/** Returns the program, the intended command, and the commands in between. */
function commandsIn(program: Command): readonly Command[] {
  const commands = [program];
  for (const name of program.args) {
    const child = commands.at(-1)?.commands.find((one) => one.name() === name);
    if (child === undefined) break;
    commands.push(child);
  }
  return commands;
}

/** Returns the names of the subcommands that help shows. */
function commandsOf(command: Command): readonly string[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.map((one) => one.name()).filter((name) => name !== 'help');
}

function suggestion(word: string, names: readonly string[]): string {
  const [name, distance] = names.reduce<readonly [string, number]>(
    (best, known) => {
      const plain = known.replace(/^--/, '');
      const cost = plain === word ? 0 : plain.startsWith(word) ? 1 : editDistance(word.toLowerCase(), plain);
      // Chooses the longer of equally near names: `listn` means listen rather than list.
      const isNearer = cost < best[1] || (cost === best[1] && known.length > best[0].length);
      return isNearer ? [known, cost] : best;
    },
    ['', Number.POSITIVE_INFINITY],
  );
  return distance <= name.length * 0.4 ? ` Did you mean ${name}?` : '';
}

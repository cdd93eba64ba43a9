import type { Argument, Command, Option } from 'commander';

/** A completion script for zsh, read off the commands themselves so that it never lags behind them. */
export function zshCompletion(program: Command): string {
  const name = program.name();
  return [
    `#compdef ${name}`,
    `# Put this where zsh looks (a folder of $fpath) as _${name}, or: source <(${name} completion zsh)`,
    ...functionsOf(program, `_${name}`, program.options),
    // Called by zsh as the function itself, or read in.
    `if [[ $funcstack[1] == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi`,
    '',
  ].join('\n');
}

/** A function for the command and one for each beneath it. */
function functionsOf(command: Command, functionName: string, globals: readonly Option[]): readonly string[] {
  const beneath = visible(command);
  const own = command.options.filter((option) => !globals.includes(option));
  const options = [...globals, ...own].filter(({ long }) => long !== '--version').map(optionSpec);
  const help = quoted('(- *)--help[show help]');
  if (beneath.length === 0) {
    const specs = [...options, help, ...command.registeredArguments.map(argumentSpec)];
    return ['', `${functionName}() {`, ...called('_arguments -S', specs), '}'];
  }
  return [
    '',
    `${functionName}() {`,
    '  local curcontext=$curcontext state line',
    '  typeset -A opt_args',
    ...called('_arguments -C', [...options, help, quoted('1: :->command'), quoted('*:: :->rest')]),
    '  case $state in',
    '    command)',
    '      local -a commands=(',
    ...beneath.map((child) => `        ${quoted(`${child.name()}:${child.description()}`)}`),
    '      )',
    `      _describe command commands ;;`,
    '    rest)',
    '      case $line[1] in',
    ...beneath.map((child) => `        ${child.name()}) ${functionName}_${child.name().replaceAll('-', '_')} ;;`),
    '      esac ;;',
    '  esac',
    '}',
    ...beneath.flatMap((child) => functionsOf(child, `${functionName}_${child.name().replaceAll('-', '_')}`, globals)),
  ];
}

function called(words: string, specs: readonly string[]): readonly string[] {
  return [`  ${words} \\`, ...specs.map((spec, place) => `    ${spec}${place < specs.length - 1 ? ' \\' : ''}`)];
}

/** Of the commands that help shows; commander's own `help` is not among `commands`. */
function visible(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');
}

function optionSpec({ long, description, flags, argChoices }: Option): string {
  const value = /<([^>]+)>/.exec(flags)?.[1];
  const takes = value === undefined ? '' : `:${value}:${valuesOf(value, argChoices)}`;
  const isRepeatable = description.includes('may be repeated');
  return quoted(`${isRepeatable ? '*' : ''}${long ?? ''}[${description.replace(/[[\]]/g, '\\$&')}]${takes}`);
}

function argumentSpec(argument: Argument): string {
  const name = argument.name();
  return quoted(`${argument.required ? ':' : '::'}${name}:${valuesOf(name, argument.argChoices)}`);
}

function valuesOf(name: string, choices: readonly string[] | undefined): string {
  if (choices !== undefined) return `(${choices.join(' ')})`;
  if (name === 'file') return '_files';
  return name === 'folder' ? '_files -/' : ' ';
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

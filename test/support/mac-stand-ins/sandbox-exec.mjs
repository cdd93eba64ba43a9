// sandbox-exec: reads a profile, and refuses what it denies to the paths among the command's arguments.
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { hasFlag } from './state.mjs';

/**
 * `sandbox-exec [-p profile] [-D key=value]... command [argument]...` (sandbox-exec(1), macOS 13 to 26). The last rule
 * that matches decides, and rules see paths without symbolic links. Inside another sandbox, and with the flag
 * `no-sandbox`, it runs nothing (anthropic-experimental/sandbox-runtime #67, openai/codex #45657).
 */
export function sandboxExec(args, environment) {
  if (hasFlag(environment, 'no-sandbox')) return refused(71, 'sandbox_apply: Operation not permitted');
  const parameters = {};
  let profile;
  let at = 0;
  for (; /^-[pD]$/.test(args[at] ?? ''); at += 2) {
    if (args[at] === '-p') profile = args[at + 1];
    else {
      const place = args[at + 1].indexOf('=');
      parameters[args[at + 1].slice(0, place)] = args[at + 1].slice(place + 1);
    }
  }
  const [command, ...others] = args.slice(at);
  if (profile === undefined || command === undefined) return refused(64, 'usage: sandbox-exec [options] command');
  const [version, ...rules] = parsed(profile);
  if (String(version) !== 'version,1') return refused(65, 'profile must begin with (version 1)');
  let allows;
  try {
    allows = decision(rules, parameters);
  } catch (error) {
    return refused(65, error.message);
  }
  // The programs of macOS are the stand-ins here.
  const program = existsSync(command) ? realpathSync(command) : command;
  if (!allows('process-exec', program)) {
    return refused(71, `execvp() of '${command}' failed: Operation not permitted`);
  }
  for (const path of others.filter(isAbsolute)) {
    const isThere = existsSync(path);
    const real = isThere ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
    const folders = above(real);
    const isAllowed = allows(isThere ? 'file-read-data' : 'file-write-create', real);
    // Apple's programs look at every folder above a file.
    if (!isAllowed || folders.some((folder) => !allows('file-read-metadata', folder))) {
      return { code: 13, stderr: `Error: ${path}: Operation not permitted` };
    }
  }
  const { status, stdout, stderr } = spawnSync(existsSync(command) ? command : basename(command), others, {
    encoding: 'utf8',
    env: environment,
  });
  return { code: status ?? 71, stdout, stderr };
}

function refused(code, sentence) {
  return { code, stderr: `sandbox-exec: ${sentence}` };
}

function above(path) {
  return path === dirname(path) ? [] : [dirname(path), ...above(dirname(path))];
}

/** Parses `(deny network* (literal "/x"))` to nested arrays; a text in quotes becomes `{ text }`. */
function parsed(profile) {
  const stack = [[]];
  for (const [token] of profile.matchAll(/"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+/g)) {
    if (token === '(') stack.push([]);
    else if (token === ')') {
      const list = stack.pop();
      stack.at(-1).push(list);
    } else stack.at(-1).push(token.startsWith('"') ? { text: JSON.parse(token) } : token);
  }
  return stack[0];
}

function decision(rules, parameters) {
  const textOf = (value) => {
    const text = Array.isArray(value) && value[0] === 'param' ? parameters[value[1].text] : value.text;
    // `(param "X")` of an unknown X is false.
    if (text === undefined) throw new Error('invalid data type of path filter; expected pattern, got boolean');
    return text;
  };
  const filters = {
    literal: (path, [wanted]) => path === textOf(wanted),
    subpath: (path, [wanted]) => path === textOf(wanted) || path.startsWith(`${textOf(wanted)}/`),
    'require-not': (path, [filter]) => !matches(filter, path),
  };
  const matches = ([name, ...rest], path) => filters[name](path, rest);
  const covers = (wanted, operation) =>
    wanted === operation || wanted === 'default' || (wanted.endsWith('*') && operation.startsWith(wanted.slice(0, -1)));
  const allows = (operation, path) => {
    let verdict = 'deny';
    for (const [action, ...rest] of rules) {
      const isMeant = rest.some((part) => typeof part === 'string' && covers(part, operation));
      const filtersHere = rest.filter(Array.isArray);
      const doMatch = filtersHere.map((filter) => matches(filter, path));
      if (isMeant && (filtersHere.length === 0 || doMatch.includes(true))) verdict = action;
    }
    return verdict === 'allow';
  };
  allows('file-read-data', '/'); // Refuses unknown parameters of every rule.
  return allows;
}

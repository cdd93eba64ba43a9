// Runs one of the stand-ins as a separate program: node run.mjs NAME ARGUMENT…
import { runStandIn } from './programs.mjs';

const [name, ...args] = process.argv.slice(2);
const { code, stdout, stderr } = await runStandIn(name, args, process.env, true);
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;

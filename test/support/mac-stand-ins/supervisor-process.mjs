// A supervisor as a separate process: node supervisor-process.mjs PROPERTY-LIST-AS-JSON. Ends with its job.
import { supervise } from './supervisor.mjs';

const plist = JSON.parse(process.argv[2]);
const job = supervise(plist, process.env, process.pid, () => process.exit(0));
process.on('SIGTERM', () => job.stop());
process.on('SIGHUP', () => job.restart());

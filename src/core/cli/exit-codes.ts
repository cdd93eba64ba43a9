import type { PosternError } from '../../client/postern-client.ts';
import { problemTexts } from '../model/problems.ts';
import { EXIT } from './context.ts';
import { mayHaveSent } from './failed-send.ts';

/** The exit codes as the help and the manual page show them. */
export const EXIT_CODE_HELP = `
Exit codes:
  ${EXIT.ok}   success, stopped on request, or first launch
  ${EXIT.failed}   a check found a problem, a message failed, or Postern crashed
  ${EXIT.usage}  invalid usage
  ${EXIT.refusedInput}  the service refused the input, or does not have the requested object
  ${EXIT.unavailable}  the service is not running or cannot do it now; serve: the port is taken
  ${EXIT.serviceFailed}  the service failed; a message may have been sent
  ${EXIT.startAgain}  must be started again (permission just granted, or export interrupted)
  ${EXIT.keyRefused}  the key was refused
  ${EXIT.config}  the configuration or key file cannot be used (0 with serve --supervised)
  ${EXIT.timedOut} send --wait: not in time`;

/** Returns the exit code of a command whose request failed. */
export function exitCodeOf(error: PosternError): number {
  const { status, code } = error;
  if (code === 'invalid_key') return EXIT.config;
  // Not for an unknown code: requests that send nothing can fail with it, too.
  if (problemTexts(code).length > 0 && mayHaveSent(error)) return EXIT.serviceFailed;
  if (code === 'connection_lost') return EXIT.serviceFailed;
  if (status === 0 || status === 429 || status === 503 || code === 'not_postern') return EXIT.unavailable;
  if (status === 401 || status === 403) return EXIT.keyRefused;
  return status >= 500 ? EXIT.serviceFailed : EXIT.refusedInput;
}

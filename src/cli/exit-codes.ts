import { EXIT } from './context.ts';

/** The exit codes as the help and the manual page show them. */
export const EXIT_CODE_HELP = `
Exit codes:
  ${EXIT.ok}   success, stopped on request, or first launch
  ${EXIT.crash}   a check found a problem, a message failed, or Postern crashed
  ${EXIT.usage}  invalid usage
  ${EXIT.refusedInput}  the service refused the input, or does not have the requested object
  ${EXIT.unavailable}  the service is not running or cannot do it now; serve: the port is taken
  ${EXIT.serviceFailed}  the service failed; a message may have been sent
  ${EXIT.startAgain}  must be started again (permission just granted, or export interrupted)
  ${EXIT.keyRefused}  the key was refused
  ${EXIT.config}  the configuration or key file cannot be used (0 with serve --supervised)
  ${EXIT.timedOut} send --wait, fleet invite or fleet join: not in time`;

/**
 * The terms of Messages' scripting dictionary that Postern's scripts may use, spelled as in the .sdef file of
 * Messages.app. Source: the dictionary of macOS 26.5.2. According to a report, the dictionary of macOS 27.0 has the
 * same classes.
 */
export const MESSAGES_TERMS = {
  commands: ['send', 'login', 'logout'],
  classes: ['participant', 'account', 'chat', 'file transfer'],
  properties: [
    'id',
    'name',
    'handle',
    'first name',
    'last name',
    'full name',
    'account',
    'description',
    'enabled',
    'connection status',
    'service type',
    'participant',
    'file path',
    'direction',
    'file size',
    'file progress',
    'transfer status',
    'started',
  ],
  /** Values of `service type`. No dictionary before macOS 15 has `RCS`, so no script may use it. */
  services: ['iMessage', 'SMS'],
} as const;

/** Terms of the standard suite, which Messages' dictionary includes from CocoaStandard.sdef. */
export const STANDARD_TERMS = {
  commands: ['count'],
  classes: ['application', 'window'],
  properties: ['version'],
} as const;

/**
 * The terms that Postern's scripts use, besides `STANDARD_TERMS` and the services. Messages cannot be driven if its
 * dictionary lacks one of them.
 */
export const NEEDED_TERMS = {
  commands: ['send'],
  classes: ['participant', 'account', 'chat'],
  properties: ['id', 'enabled', 'service type'],
} as const;

import { flag, type Setting, type ValuesOf } from '../../core/config/setting.ts';

/** The section `[contacts]` of config.toml. */
export const CONTACT_SETTINGS = {
  isEnabled: flag(
    {
      name: 'contacts.enabled',
      title: 'Names from Contacts',
      about:
        'Whether clients may ask for the names of people. Postern opens the Address Book at the first such request, and only reads it.',
    },
    true,
  ),
  /** "": the calling code of the Mac's own number. */
  callingCode: {
    name: 'contacts.calling_code',
    title: 'Calling code',
    about:
      'The calling code of Address Book numbers that are written without one, such as "46". Empty: that of your own number in Messages.',
    allowed: 'the digits of a calling code, without + and 00, or empty',
    defaultValue: () => '',
    read: (written) => (typeof written === 'string' && /^(?:[1-9]\d{0,2})?$/.test(written) ? written : undefined),
  } satisfies Setting<string>,
};

export type ContactValues = ValuesOf<typeof CONTACT_SETTINGS>;

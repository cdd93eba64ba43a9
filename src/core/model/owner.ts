/** The owner's `key_id`. */
export const OWNER = 'owner';

/** Looks up conversations and senders by what people call them. */
export interface ChatNames {
  /**
   * Returns the ids of the conversations that the text may refer to, best first. The text is a conversation id in any
   * variant, an address, or the identifier in a group's id.
   */
  conversations(idOrAddress: string): readonly string[];
  /** Returns all ids of each conversation with this display name. Ignores case and accents. */
  named(name: string): readonly (readonly string[])[];
  /**
   * Reports whether chat.db knows somebody with this address, ignoring case. Short codes and company names are
   * addresses too.
   */
  isAddress(text: string): boolean;
}

/**
 * Reports whether a key belongs to an input method, such as Enter that accepts a word. Safari ends the composition
 * before it reports that key, and gives it the code 229.
 */
export const isComposing = (event: KeyboardEvent): boolean => event.isComposing || event.keyCode === 229;

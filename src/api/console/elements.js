/** The page's element with that id. */
export const element = (id) => document.getElementById(id);

/** A new list item from its template. */
export const copyOf = (id) => element(id).content.firstElementChild.cloneNode(true);

/** Shows the person a result. Text is only ever set as text: nothing in a message can become part of the page. */
export function say(id, text, isBad = false) {
  const line = element(id);
  line.textContent = text;
  line.dataset.tone = isBad ? 'bad' : 'good';
}

/** The name of an address, if the Address Book has one. */
export const personOf = (address, names = {}) => (Object.hasOwn(names, address) ? names[address] : address);

/** Only the time of day if it is today. */
export function timeOf(iso) {
  const time = new Date(iso);
  return isToday(time)
    ? time.toLocaleTimeString([], { timeStyle: 'short' })
    : time.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
}

/** A shorter form: only the day if it is older. */
export function shortTimeOf(iso) {
  const time = new Date(iso);
  return isToday(time)
    ? time.toLocaleTimeString([], { timeStyle: 'short' })
    : time.toLocaleDateString([], { dateStyle: 'short' });
}

const isToday = (time) => time.toDateString() === new Date().toDateString();

/** A duration, roughly. */
export function spanOf(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

// The part of the commands that other features use.
export { type FilterOptions, filterOf, secretIn } from './webhook-settings-commands.ts';

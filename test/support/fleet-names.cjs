// Preloaded into a process: gives every name below `fleet.test` the address of this machine, as a fleet's own DNS would.
const dns = require('node:dns');

const { lookup } = dns;
dns.lookup = (host, options, callback) =>
  lookup(String(host).endsWith('.fleet.test') ? '127.0.0.1' : host, options, callback);

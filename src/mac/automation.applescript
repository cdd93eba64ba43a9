-- Asks Messages something harmless, to learn whether it may be automated. Reads nothing of the person's and
-- changes nothing; the first time, macOS asks the person, and this waits for the answer or for its time limit.

-- Asking whether it runs does not start it, a tell would.
if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600

with timeout of 15 seconds
	tell application id "com.apple.MobileSMS" to count windows
end timeout

-- Asks Messages something harmless, to learn whether it may be automated. Reads nothing of the person's and changes
-- nothing. The first time macOS asks the person, and takes its dialog away when the event times out: so it waits long.

-- Asking whether it runs does not start it, a tell would.
if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600

with timeout of 600 seconds
	tell application id "com.apple.MobileSMS" to count windows
end timeout

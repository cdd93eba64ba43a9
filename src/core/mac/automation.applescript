-- Sends Messages a harmless event, to learn whether it may be automated. Reads no personal data and changes nothing.
-- The first event makes macOS prompt the user. The timeout is long, because macOS removes its dialog when it expires.

-- "is running" does not start Messages; a tell would.
if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600

with timeout of 600 seconds
	tell application id "com.apple.MobileSMS" to count windows
end timeout

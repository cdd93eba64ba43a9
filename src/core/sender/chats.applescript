-- Prints the ids of the chats in Messages' own list, one per line. The list may lack some chats. Changes nothing.

use AppleScript version "2.4"
use scripting additions

on run
	if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600
	with timeout of 25 seconds
		tell application id "com.apple.MobileSMS" to set theIds to id of every chat
	end timeout
	set AppleScript's text item delimiters to linefeed
	return theIds as text
end run

-- Makes one attempt to send one text or one file (decisions D1, T1). The script is constant and takes no argument: all
-- data comes from the environment, so nothing that anybody writes can become part of a script.
--
--   POSTERN_CHAT_ID     the id of the chat to send to; if empty:
--   POSTERN_RECIPIENT   the address to send to, as a participant
--   POSTERN_SERVICE     the service of the account to use (iMessage, SMS or RCS); empty for any account
--   POSTERN_BODY        the text; or instead of it:
--   POSTERN_ATTACHMENT  the absolute path of the file
--
-- With neither text nor file it sends nothing and only reports whether Messages is running: error -600 if not.
-- The caller decides which attempt to make, and which next. The script makes only this one, and catches no error.
--
-- Only a Mac can confirm that the enumeration becomes the text "RCS" (accountFor), and that a file outside the folders
-- that Messages may read is accepted here without an error and fails later (decision D8).
-- The words account and participant need the dictionary of macOS 13 or newer.

use AppleScript version "2.4"
use scripting additions
use framework "Foundation"

on run
	-- "is running" does not start Messages; a tell would.
	if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600

	-- Makes all values plain text, and the file a plain alias, before the tell: inside it, Messages' rules would
	-- coerce them.
	set theChatId to my valueOf("POSTERN_CHAT_ID")
	set theRecipient to my valueOf("POSTERN_RECIPIENT")
	set theService to my valueOf("POSTERN_SERVICE")
	set theContent to my valueOf("POSTERN_BODY")
	set thePath to my valueOf("POSTERN_ATTACHMENT")
	if thePath is not "" then
		set theContent to (POSIX file thePath) as alias
	else if length of theContent is 0 then
		-- A comparison with "" might ignore characters that have no width.
		return
	end if

	-- Shorter than the caller's own limit (decision D3), so that a slow Messages causes error -1712.
	with timeout of 25 seconds
		if theChatId is not "" then
			tell application id "com.apple.MobileSMS" to send theContent to chat id theChatId
		else if theService is not "" then
			set theAccount to my accountFor(theService)
			tell application id "com.apple.MobileSMS" to send theContent to participant theRecipient of theAccount
		else
			tell application id "com.apple.MobileSMS" to send theContent to participant theRecipient
		end if
	end timeout
	return
end run

-- Returns the first enabled account of this service. An account that was signed out of stays in the list, disabled, and
-- sends through it fail later. Older systems do not know the word RCS, and a script with that word does not compile
-- there, so the service is compared as text, which an enumeration becomes only inside the tell.
on accountFor(theService)
	with timeout of 25 seconds
		tell application id "com.apple.MobileSMS"
			if theService is "iMessage" then return 1st account whose service type = iMessage and enabled = true
			if theService is "SMS" then return 1st account whose service type = SMS and enabled = true
			repeat with anAccount in (get every account whose enabled = true)
				if ((service type of anAccount) as text) is theService then return contents of anAccount
			end repeat
		end tell
	end timeout
	error "No enabled account for this service." number -1728
end accountFor

-- Foundation decodes the environment as UTF-8; "system attribute" would not.
on valueOf(theName)
	set theValue to (current application's NSProcessInfo's processInfo()'s environment())'s objectForKey:theName
	if theValue is missing value then return ""
	return theValue as text
end valueOf

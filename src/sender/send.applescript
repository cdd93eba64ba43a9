-- Sends one text or one file (decision D1). This file never changes and takes no argument: everything that
-- differs comes from the environment, so nothing anybody writes can become part of a script.
--
--   POSTERN_RECIPIENT   an address, or the id of a group chat (it holds ";+;")
--   POSTERN_CHAT_IDS    known ids of the chat, one a line, best first; may be empty
--   POSTERN_SERVICE     iMessage, SMS or RCS, for an address without a known chat
--   POSTERN_BODY        the text, or instead of it:
--   POSTERN_ATTACHMENT  the absolute path of the file
--
-- Only a Mac can show: that the enumeration comes out as the text "RCS" (accountFor), and that a file outside
-- the folders Messages may read is accepted here without an error and fails later (decision D8).
-- The words account and participant need the dictionary of macOS 13 or newer.

use AppleScript version "2.4"
use scripting additions
use framework "Foundation"

on run
	-- All values are plain text, and the file a plain alias, before the tell: inside it they would be
	-- coerced by Messages' rules.
	set theRecipient to my valueOf("POSTERN_RECIPIENT")
	set theChatIds to paragraphs of (my valueOf("POSTERN_CHAT_IDS"))
	set theService to my valueOf("POSTERN_SERVICE")
	set thePath to my valueOf("POSTERN_ATTACHMENT")
	if thePath is "" then
		set theContent to my valueOf("POSTERN_BODY")
	else
		set theContent to (POSIX file thePath) as alias
	end if

	-- Asking whether it runs does not start it, a tell would. Nothing has been sent yet: the caller opens
	-- Messages and runs this once more (decision D2).
	if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600

	set theMessage to "No known chat could be used."
	set theNumber to -1728
	repeat with aChatId in theChatIds
		set theChatId to contents of aChatId
		if theChatId is not "" then
			try
				my sendToChat(theContent, theChatId)
				return
			on error errorMessage number errorNumber
				-- No such object, bad index, cannot be coerced: nothing went out, the next may do. Anything
				-- else may have gone out, or will not get better.
				if errorNumber is not in {-1728, -1719, -1700} then error errorMessage number errorNumber
				set theMessage to errorMessage
				set theNumber to errorNumber
			end try
		end if
	end repeat

	-- A group is only ever its chat: as a participant its id would make a row in no chat at all.
	if theRecipient contains ";+;" then error theMessage number theNumber
	my sendToPerson(theContent, theRecipient, theService)
	return
end run

on sendToChat(theContent, theChatId)
	-- Shorter than the caller's own limit (decision D3), so that a slow Messages answers -1712.
	with timeout of 25 seconds
		tell application id "com.apple.MobileSMS" to send theContent to chat id theChatId
	end timeout
end sendToChat

on sendToPerson(theContent, theAddress, theService)
	with timeout of 25 seconds
		set theAccount to my accountFor(theService)
		tell application id "com.apple.MobileSMS" to send theContent to participant theAddress of theAccount
	end timeout
end sendToPerson

-- The account that sends by this service. Older systems do not know the word RCS, and a script that names it does
-- not compile there; so it is compared as text, which an enumeration becomes only inside the tell.
on accountFor(theService)
	tell application id "com.apple.MobileSMS"
		if theService is "iMessage" then return 1st account whose service type = iMessage
		if theService is "SMS" then return 1st account whose service type = SMS
		repeat with anAccount in (get every account)
			if ((service type of anAccount) as text) is theService then return contents of anAccount
		end repeat
	end tell
	error "No account for this service." number -1728
end accountFor

-- Foundation decodes the environment as UTF-8; "system attribute" would not.
on valueOf(theName)
	set theValue to (current application's NSProcessInfo's processInfo()'s environment())'s objectForKey:theName
	if theValue is missing value then return ""
	return theValue as text
end valueOf

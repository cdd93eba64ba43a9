-- Prints the service type of every account in Messages, then whether each is enabled. Changes nothing.

if not (application id "com.apple.MobileSMS" is running) then error "Messages is not running." number -600

with timeout of 25 seconds
	tell application id "com.apple.MobileSMS" to return {service type of every account, enabled of every account}
end timeout
